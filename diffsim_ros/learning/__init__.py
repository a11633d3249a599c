"""Learning of control policies: environments from scenes, policy gradients by the engine's adjoint.

    from diffsim_ros.learning import Batch, load_environment
    batch = Batch(load_environment("config/learning/pendulum.yaml"), 16, seed=0)
    observation = batch.reset()                     # (16, observations)
    step = batch.step(actions)                      # all on the engine's threads
    by_action, start = step.pull_back(by_observation, by_reward, by_end)

These need the engine alone.  `env.py` (Gymnasium), and `shac.py` and `sac.py` (PyTorch) need the
extra `learning`; nothing else of the package imports them.
"""

from diffsim_ros.learning.batch import Batch, BatchStep
from diffsim_ros.learning.config import EnvironmentConfig, load_environment

__all__ = ["Batch", "BatchStep", "EnvironmentConfig", "load_environment"]
