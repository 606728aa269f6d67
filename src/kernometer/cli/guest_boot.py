"""`kernometer guest boot`: a guest with its console on this terminal, and a debugger on request."""

from __future__ import annotations

import os
import shlex

import click

from kernometer.cli import complete, options
from kernometer.cli.env import Env, pass_env
from kernometer.results.model import By


@click.command()
@click.argument("spec", metavar="GUEST", shell_complete=complete.guests)
@options.by
@click.option("--gdb", is_flag=True, help="Wait for a debugger before the first instruction, and print how to attach.")
@options.dry_run
@pass_env
def boot(env: Env, spec: str, by: By, gdb: bool, dry_run: bool) -> None:
    """Boot GUEST (linux-6.1, linux-6.1+mitigations=off) with its console on this terminal.

    It starts a shell, with the probe, busybox and a C compiler (tcc). 'exit' powers the guest off, Ctrl-A x ends it at
    once, Ctrl-C goes to the guest. Without a terminal standard input is typed, one line at each prompt. With --by path
    a probe that you call yourself counts instructions.
    """
    from kernometer.guests.emulator.gdb import how_to_attach
    from kernometer.guests.emulator.interactive import attended
    from kernometer.targets.attended import DEBUGGER, Console
    from kernometer.targets.qemu import QemuTarget

    console = Console(QemuTarget.from_spec(spec.removeprefix("qemu:")), by, debugger=gdb)
    argv = console.argv
    if dry_run:
        click.echo(shlex.join(argv), file=env.out)
        return
    if console.note:
        env.say(f"note: {console.note}")
    env.say("Making what the guest needs …")  # a C compiler, the first time
    with console.folder(env.say) as folder:
        if gdb:
            env.say(how_to_attach(console.target.guest, folder / DEBUGGER))
        if os.isatty(0):
            leave = "'exit' powers the guest off. " if console.has_shell else ""
            env.say(f"{leave}Ctrl-A x ends it at once, Ctrl-A h shows what else there is; Ctrl-C is the guest's.")
        env.out.flush()
        attended(argv, folder, shell=console.has_shell)
