"""Command: send a trajectory.yaml to the driver, show its progress, print how it ended.

    python -m diffsim_ros.nodes.execute plan/trajectory.yaml [--blend S] [--driver NAME]
        [--ros-args -r __ns:=/robot1]

Exit code 0: done (or would be: dry run); 2: an unusable file; 3: not done, the line has the reason.
Ctrl-C, SIGTERM and a closed terminal cancel the motion; the line is the driver's answer to that.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from rclpy.utilities import remove_ros_args

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert_motion
from diffsim_ros.nodes.commander import CallFailed, Commander, Interrupted, interrupts
from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.robots.trajectory import JointTrajectory


def main(arguments: Sequence[str] | None = None) -> int:
    """Send, wait, report."""
    parser = argparse.ArgumentParser(prog="execute", description=__doc__.split("\n")[0])
    parser.add_argument("trajectory", help="trajectory.yaml, as `diffsim plan` writes it")
    parser.add_argument("--blend", type=float, default=0.0, help="[s] to its first point; 0: auto")
    parser.add_argument("--driver", default="driver", help="name of the driver's node")
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parser.parse_args(remove_ros_args(given))
    phase = ""

    def on_progress(message) -> None:
        nonlocal phase
        if message.phase != phase:
            phase = message.phase
            print(f"{phase} ({message.time:.2f} s)", file=sys.stderr)

    def carry_out() -> Report:
        trajectory = JointTrajectory.load(options.trajectory)
        with interrupts() as watch, Commander(watch, given) as commander:
            name = f"{options.driver}/execute"
            return commander.execute(trajectory, on_progress, blend=options.blend, name=name)

    return reported("execute", carry_out)


def reported(
    program: str, carry_out: Callable[[], Report], done: Callable[[], str] = lambda: ""
) -> int:
    """Have a command's motion carried out and print how it ended; the exit code.

    done  what the command had done by its end, where that is more than one motion
    """
    report: Report | None = None
    try:
        report = carry_out()
    except (InputError, CallFailed) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 3
    except Interrupted as cancelled:
        report = cancelled.result and convert_motion.report(cancelled.result)
    except KeyboardInterrupt:
        pass
    if report is None:
        after = f" after {done()}; nothing more was sent" if done() else "; nothing was sent"
        print(f"{program}: cancelled{after}", file=sys.stderr)
        return 3
    figures = [done()]
    if report.tracking_error is not None:
        figures.append(f"largest tracking error {report.tracking_error:.4g} rad or m")
    if report.release_stamp is not None:
        late = f", {1e3 * report.release_lateness:.0f} ms late"
        figures.append(f"gripper commanded at {report.release_stamp:.3f} s{late}")
    print("; ".join(filter(None, [report.code, report.message, *figures])))
    return 0 if report.code == "SUCCESS" else 3


if __name__ == "__main__":
    raise SystemExit(main())
