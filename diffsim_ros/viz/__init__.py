"""Pictures of what was measured, simulated and estimated; plain data in, files out, no ROS.

motion           one body's measured and simulated motion on a common clock
markers          pure-data marker descriptions (what rviz will show)
meshes, render   markers -> triangles -> PNG, by a small software renderer
plots, fit_plots arrays -> matplotlib figures
player           motions -> the data of the report's playable 3D view
curves           measured and simulated signals -> the data of the report's zoomable curves
html             templates -> self-contained pages and the pictures beside them
estimation_page  the page of every estimation; report_tables are its words
playback         predicted recordings -> a bag that rviz2 and Foxglove play
kinds            what page and playback show of one kind of recording, a module each
pages            which of them an estimation's kind has
scene_report     the page of a simulation
still            pictures of a scene at rest and of its vibrations
animation        what is seen of a motion at each instant, as markers: what the next three show
viewer           it in the browser (viser), while it is simulated too; viewer_shapes its markers
video            it as GIF and MP4
recorded         it read back from a motion.mcap

PICTURES names the PNG files that an estimation may leave beside its page; it stands here so
that a command can refuse to overwrite them before matplotlib is loaded or any work is done.
"""

PICTURES = (
    "error_over_time.png",
    "parameters.png",
    "profiles.png",
    "bands.png",
    "correlation.png",
    "convergence.png",
    "motion_best.png",
    "motion_median.png",
    "motion_hard.png",
    "motion_worst.png",
    "cubes.png",
    "swings.png",
    "marker_errors.png",
    "clouds.png",
    "cloud_residuals.png",
    "paths.png",
)
