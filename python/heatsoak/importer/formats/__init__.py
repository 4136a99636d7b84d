"""One module or package a format; :data:`FORMATS` has them in the order in which they are asked."""

from heatsoak.importer.format import Format
from heatsoak.importer.formats import (
    disk_marks,
    diskspd,
    dstat,
    elbencho,
    hwinfo,
    iometer,
    iostat,
    json_rows,
    known,
    lm_sensors,
    nvme_smart,
    plain,
    sar,
    smartctl,
    tkperf,
)
from heatsoak.importer.formats.fio import json as fio_json
from heatsoak.importer.formats.fio import log as fio_log

#: The more particular a format's marks, the earlier it is asked; plain CSV takes what is left.
FORMATS: tuple[Format, ...] = (
    fio_log.FORMAT,
    fio_json.TERSE,
    tkperf.FORMAT,
    smartctl.FORMAT,
    nvme_smart.FORMAT,
    lm_sensors.FORMAT,
    fio_json.JSON,
    iometer.FORMAT,
    disk_marks.AS_SSD,
    disk_marks.CRYSTALDISKMARK,
    diskspd.FORMAT,
    sar.FORMAT,
    iostat.FORMAT,
    elbencho.FORMAT,
    dstat.FORMAT,
    hwinfo.FORMAT,
    plain.AIDA64,
    known.FORMAT,
    json_rows.FORMAT,
    plain.FORMAT,
)
