# Completion of heatsoak, by heatsoak itself: files where it has nothing to offer.

function __heatsoak_complete
    env _HEATSOAK_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=$argv[1] \
        _TYPER_COMPLETE_ARGS=(commandline -cp) heatsoak 2>/dev/null
end

complete --command heatsoak --no-files --condition "__heatsoak_complete is-args" \
    --arguments "(__heatsoak_complete get-args)"
