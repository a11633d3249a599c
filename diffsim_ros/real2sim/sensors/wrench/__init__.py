"""Force–torque sensors: stiffness and contacts of what presses on them."""
