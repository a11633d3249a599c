"""The subcommands of `diffsim`: each module has `run(options) -> exit code`."""
