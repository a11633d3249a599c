"""The subcommands of `diffsim`: each module has `add_arguments(parser)` and
`run(options) -> exit code`."""
