"""Many tasks of one function: in this process, in several, or on a Ray cluster.

    from diffsim_ros.executors import executor_of, gather

    def reach(scene, speed, cancel):
        return scene.rollout({"ball.velocity.x": speed})["ball"].position[-1]

    with executor_of("local") as executor:
        ends = gather(reach, speeds, scene, executor=executor, folder="reaches")

Results do not depend on the executor, on the number of its workers, or on a stop in between.
"""

from .executor import Executor, WorkerLost
from .in_process import InProcess
from .processes import Processes
from .ray_cluster import RayExecutor, check_address
from .side_by_side import ALONE, SideBySide
from .tasks import executor_of, gather, stream

__all__ = [
    "ALONE", "Executor", "InProcess", "Processes", "RayExecutor", "SideBySide", "WorkerLost",
    "check_address", "executor_of", "gather", "stream",
]  # fmt: skip
