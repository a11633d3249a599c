"""An observer and a publisher in the role of a driver, for the tests of what it receives."""

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from diffsim_ros.nodes.common import DRIVER
from diffsim_ros.nodes.observer import Observer


class Observing:
    """An observer, its diagnostics, and publishers in the role of drivers.

    usual  the observer's parameters where a test has no others
    """

    def __init__(self, ros, folder):
        self.ros, self.folder = ros, folder
        self.usual = {"period": 0.05, "pose_topics": [""]}
        self.diagnostics = ros.listen(DiagnosticArray, "/diagnostics", 10)

    def observe(self, **parameters):
        self.observer = self.ros.start_with(Observer, **(self.usual | parameters))
        return self.observer

    def publisher(self, kind, topic, profile=DRIVER):
        publisher = self.ros.node.create_publisher(kind, topic, profile)
        self.ros.until(lambda: publisher.get_subscription_count(), f"a subscriber of {topic}")
        return publisher

    def status(self, condition, what="a diagnostic"):
        """The first status from now on that fulfils a condition."""
        before = len(self.diagnostics)

        def found():
            fresh = [s for m in self.diagnostics[before:] for s in m.status]
            return next((s for s in fresh if condition(s)), None)

        return self.ros.until(found, lambda: f"{what}; last: {self.diagnostics[-1:]}")

    def save(self, **parameters):
        """The answer of ~/save, with these parameters set before."""
        if parameters:
            given = [Parameter(name, value=value) for name, value in parameters.items()]
            self.observer.set_parameters(given)
        return self.ros.call(Trigger, "/observer/save")
