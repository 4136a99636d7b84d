#!/bin/sh
# A Slurm array for the drives of one host, a task for each line of a file: DRIVE [ERASE].
#
#   sbatch --nodelist=b1 --array=1-8 slurm.sh monday quick drives-b1.txt /srv/racks/monday
#
# A task that Slurm runs again does not run its test again. Then, on any machine that has
# /srv/racks: heatsoak rack report /srv/racks/monday
#SBATCH --job-name=heatsoak
#SBATCH --cpus-per-task=1
set -u
run=$1 protocol=$2 drives=$3 out=$4

# a drive and, for protocols that write, the id of what may be erased
set -- $(sed -n "${SLURM_ARRAY_TASK_ID}p" "$drives")
heatsoak rack host start "$run" "$protocol" --on "$1" ${2:+--erase "$2"} --wait
code=$?
heatsoak rack host collect "$run" -o "$out" > /dev/null
exit $code
