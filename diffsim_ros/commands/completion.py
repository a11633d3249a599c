"""`diffsim completion`: what makes bash, zsh or fish complete the command line."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Those of `diffsim completion`."""
    command.add_argument("shell", choices=SHELLS)
    command.epilog = (
        'bash, zsh: eval "$(diffsim completion bash)" in ~/.bashrc or ~/.zshrc; '
        "fish: diffsim completion fish > ~/.config/fish/completions/diffsim.fish"
    )


def run(options: argparse.Namespace) -> int:
    """Print the shell's code; it asks `diffsim` itself, so it need not be renewed."""
    import argcomplete

    print(argcomplete.shellcode(["diffsim"], shell=options.shell))
    return 0
