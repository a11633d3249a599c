"""ROS 2 nodes around the library: the only place that imports rclpy; no mathematics in here."""
