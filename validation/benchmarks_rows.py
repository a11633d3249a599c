"""The figures of docs/benchmarks.md: what each row says of a study's recorded figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Row:
    """A row whose figures come from docs/results/STUDY.json."""

    what: str
    study: str
    figures: Callable[[dict], str]
    page: str = ""
    """Where it is explained, relative to docs/."""


@dataclass(frozen=True)
class Noted:
    """A row that no study records: printed by a command on a day, written down by hand."""

    what: str
    figures: str
    command: str
    date: str
    page: str = ""


def percent(x: float, digits: int = 1) -> str:
    return f"{100 * x:.{digits}f} %"


def power(x: float) -> str:
    """An error to one digit: 3e-10."""
    return f"{x:.0e}".replace("e-0", "e-").replace("e+0", "e")


def up(x: float) -> str:
    """A bound, rounded up to one digit."""
    digit = f"{x:.0e}"
    return power(x if float(digit) >= x else float(digit) + 10.0 ** int(digit[2:]))


def between(values: Iterable[float], digits: int) -> str:
    values = list(values)
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def gradients(d: dict) -> str:
    wrong = d["out_of_tolerance"]
    return (
        f"{wrong or 'none'} of {d['directions']} directions in {d['scenes']} scenes out of "
        f"tolerance, "
        f"{percent(d['share_within_1e-6'])} within 1e-6 (worst {up(d['worst_error'])}, median "
        f"{power(d['median_error'])}); S against λ {power(d['sensitivity_against_adjoint'])}"
    )


def hard_contact(d: dict) -> str:
    e = d["derivatives"]
    return (
        f"{e['within_1e-6']} of {e['directions']} within 1e-6 of differences, all within "
        f"{up(e['largest_error'])}; {e['failed']} failed; a stack of ten stands at "
        f"{power(d['closed_forms']['stack_speed'])} m/s"
    )


def orders(d: dict) -> str:
    def one(scheme: str) -> str:
        found = [v for k, v in d["orders"].items() if scheme in k]
        return between([o for v in found for o in (v["order_min"], v["order_max"])], 2)

    return f"order {one('bdf1')} / {one('bdf2')}"


def touchdown(d: dict) -> str:
    scenes = [s for n, s in d["scenes"].items() if n not in d["chaotic"]]
    kinds = [median(s[k]["rms"] / s["size"] for s in scenes) for k in ("integrated", "sampled")]
    return (
        f"{percent(kinds[0], 2)} of the derivative with contact integrated within the step, "
        f"{percent(kinds[1], 0)} with contact sampled (medians over scenes), at "
        f"{d['cost_over_sampled']:.2f} of its cost"
    )


def dynamics(d: dict) -> str:
    keys = ("tau", "qdd", "M", "id_q", "id_qd", "fd_q", "fd_qd", "fd_tau")
    robots = [v for v in d.values() if isinstance(v, dict)]
    return f"within {up(max(r[k] for r in robots for k in keys))}"


def cube(d: dict) -> str:
    v, best = d["validate"], d["validate"]["best_published"]
    return (
        f"ours {percent(v['position_error_widths'])} of width, {v['rotation_error_deg']:.1f}°, "
        f"{v['e_q']:.3f}; the best of the three in each "
        f"{percent(best['position_error_widths']['mean'])}, "
        f"{best['rotation_error_deg']['mean']:.1f}°, {best['e_q']['mean']:.3f}"
    )


def cube_peers(d: dict) -> str:
    parts = []
    for half in ("development", "other_half"):
        ours = d[half]["present, one motion"]
        peers = [v for k, v in d[half].items() if k.endswith("refitted")]
        least = {k: min(p[k] for p in peers) for k in ours if isinstance(ours[k], float)}
        parts += [
            f"{percent(x['position_error_widths'])}, {x['rotation_error_deg']:.1f}°, {x['e_q']:.3f}"
            for x in (ours, least)
        ]
    return f"ours {parts[0]} and {parts[2]}; the best of the three {parts[1]} and {parts[3]}"


def significance(toss: dict, peers: dict) -> str:
    """In which figures the lead over the best simulator excludes equality, in every comparison."""
    names = {"position_error_widths": "position", "rotation_error_deg": "rotation", "e_q": "e_q"}
    sure = []
    for i, (key, name) in enumerate(names.items()):
        found = [toss["validate"]["best_published"][key]["excludes_equality"]]
        for half in ("development", "other_half"):
            others = [v for k, v in peers[half].items() if k.endswith("refitted")]
            found.append(min(others, key=lambda v: v[key])["excludes_equality"][i])
        sure += [name] * all(found)
    rest = [name for name in names.values() if name not in sure]
    return (
        f"Differences to the best simulator in {' and '.join(sure) or 'nothing'} are significant "
        f"(95 %, paired by toss) in both rows of the cube's tosses, beside refitted peers too; "
        f"those in {' and '.join(rest) or 'nothing'} are not in every comparison."
    )


def halves(d: dict) -> str:
    sets = {k: v for k, v in d.items() if isinstance(v, dict)}
    return ", ".join(f"{k.replace('_', ' ')} {v['rms']:.2f}" for k, v in sets.items())


def real_tosses(d: dict) -> str:
    early = [r["rigid_impacts"]["early"]["position_error_m"] for r in d["square"]["draws"].values()]
    ours, base = (between([1e3 * e[k] for e in early], 1) for k in ("ours", "baseline"))
    impact = [
        r["rigid_impacts"]["impact"]["velocity_error_m_s"] for r in d["ellipse"]["draws"].values()
    ]
    elbow = [
        r["early"]["first_guess"]["position_error_m"] for r in d["elbow"]["draws"].values()
    ]  # fmt: skip
    tennis = d["tennis"]["predicted"].values()
    return (
        f"square, position in the 0.1 s after contact: {ours} mm against {base} mm; ellipse, "
        f"velocity after impact: {between([e['ours'] for e in impact], 3)} against "
        f"{between([e['baseline'] for e in impact], 3)} m/s; elbow: "
        f"{between([1e3 * e['ours'] for e in elbow], 1)} against "
        f"{between([1e3 * e['baseline'] for e in elbow], 1)} mm before the fit; tennis "
        f"balls, frames that were not fitted: "
        f"{between([1e3 * e['ours'] for e in tennis], 0)} against "
        f"{between([1e3 * e['baseline'] for e in tennis], 0)} mm"
    )


def sysid(d: dict) -> str:
    fits = [d["arm"][k] for k in ("ours", "mujoco.sysid", "mujoco.sysid, a quarter of the step")]
    rms = ", ".join(f"{1e3 * f['validate']['position_rms_rad']:.3f}" for f in fits)
    errors = ", ".join(percent(f["median_relative_error"]) for f in fits)
    rollouts = ", ".join(str(f["rollouts"]) for f in fits)
    return f"{rms} mrad; median parameter error {errors}; {rollouts} rollouts"


def verdicts(d: dict) -> str:
    r, rolling = d["right"], d["misfits"]["rolling"]
    low, high = min(r["covered"].values()), max(r["covered"].values())
    return (
        f"of {d['matter']} where a parameter is off by over 2 σ, {d['found']} are below *good* "
        f"(rolling friction: {rolling['below_good']} of {rolling['matters']}); {r['good']} of "
        f"{r['recordings']} right ones are *good*; 95 % intervals hold the truth in {low} to "
        f"{high} % of them"
    )


def model_comparison(d: dict) -> str:
    first = d["soft_invariant"]["against_best"]["linear"]["ratio"]
    second = d["soft_linear"]["against_best"]["invariant"]["ratio"]
    return f"errors {first:.1f} and {second:.1f} times as large, recognised in both directions"


def foam_ball(d: dict) -> str:
    return (
        f"{round(d['inside_95'] * d['pairs'])} of {d['pairs']} within 95 % intervals, largest "
        f"deviation {d['largest_z']:.1f} σ; σ at most {d['largest_sigma_over_bound']:.2f} of the "
        f"Cramér–Rao bound; {between(d['rollouts'], 0)} rollouts, "
        f"{between(d['seconds_each'], 0)} s each"
    )


def mesh_numbers(d: dict) -> str:
    return (
        f"{percent(d['within'], 0)} of {3 * d['bodies']}, by the noise alone "
        f"{percent(d['within_by_noise_alone'], 0)}; {d['silently_off']} farther off and called good"
    )


def silicone_beam(d: dict) -> str:
    w = d["worst"]
    return (
        f"static deflection within {percent(w['static_deflection_error'])}, frequency "
        f"{percent(w['frequency_error'])}, decay {percent(w['decay_error'])}, markers "
        f"{1e3 * w['mean_marker_error_m']:.1f} mm"
    )


def cassie(d: dict) -> str:
    e, b = d["errors"]["fitted"], d["beside_rigid"]
    return (
        f"pelvis within {e['pelvis_position_mm']:.1f} mm and {e['pelvis_rotation_deg']:.1f}° (rms);"
        f" {b['better']} of {b['of']} better than a rigid robot, whose errors are "
        f"{1 / b['ratio']:.1f} times as large"
    )


def arm_body(d: dict) -> str:
    r, p = d["loaded_joints"], d["rms_of_positions_rad"]
    return (
        f"rms of currents on unseen motions {r['five']:.2f} of that of five coefficients a joint, "
        f"{r['urdf']:.2f} of the URDF's; positions after 0.2 s within "
        f"{1e3 * p['whole']['0.2 s']:.0f} mrad ({1e3 * p['five']['0.2 s']:.0f} and "
        f"{1e3 * p['urdf']['0.2 s']:.0f}), where constant velocity is within "
        f"{1e3 * p['constant_velocity']['0.2 s']:.1f}"
    )


def demo(d: dict) -> str:
    def one(of: dict) -> str:
        runs = [e["errors_m"] for e in of["each"] if len(e["errors_m"]) > 1]
        first, last = ([100 * r[i] for r in runs] for i in (0, -1))
        return (
            f"{of['hit']} of {of['runs']} hit: {between(first, 0)} cm from the target at first, "
            f"{between(last, 1)} cm at last, in {between(of['seconds'], 0)} s"
        )

    a = d["alone"]
    return f"{one(a)} ({a['date']}, {a['commit']}); under six busy loops {one(d['busy'])}"


def driver(d: dict) -> str:
    r = d["rules"]
    return (
        f"{r['real_refuses']} and {r['ours_refuses']} of {r['spoilt']}; {r['slipped_through']} that"
        " the controller would refuse leave the driver"
    )


def faults(d: dict) -> str:
    a = d["all"]
    return (
        f"{d['executions']} executions: {len(d['examples_of_violations'])} violations; highest "
        f"share of a velocity limit {a['worst']['told_velocity']:.2f}, of an acceleration limit "
        f"{a['worst']['told_acceleration']:.2f}"
    )


def inverse_kinematics(d: dict) -> str:
    arms = [d[k] for k in ("ur5", "stanford", "seven_axis")]
    solved = ", ".join(f"{100 * a['solved']:g}" for a in arms)
    times = ", ".join(f"{a['cpu_ms_median']:.0f}" for a in arms)
    inside = min(a["within_limits"] for a in arms)
    return f"{solved} % solved, {100 * inside:g} % of these within limits; {times} ms (median)"


def executed_plans(d: dict) -> str:
    plans = {k: v["as_it_is"] for k, v in d.items() if k.startswith("ur5_")}
    reached = sum(p["over_ros"]["reached"] for p in plans.values())
    places = [
        x for p in plans.values() for k, x in p["executed"].items() if k in ("target", "place")
    ]
    apart = max(x for p in plans.values() for x in p["over_ros"]["differences"].values())
    return (
        f"{reached} of {len(plans)} within their tolerances; targets and places missed by "
        f"{between([1e3 * x for x in places], 1)} mm; the same as without ROS to {up(apart)}"
    )


def uncertain_plans(d: dict) -> str:
    parts = []
    for name, plan in d.items():
        if not name.startswith("ur5_"):
            continue
        shares = [
            plan.get(k, {}).get("attempts", {}).get("reached") for k in ("as_it_is", "robust")
        ]
        shown = [f"{100 * s:.0f} %" for s in shares if s is not None]
        same = len(set(shown)) == 1
        parts.append(f"{name[4:].replace('_', ' ')} {shown[0] if same else ' → '.join(shown)}")
    return ", ".join(parts)


def replanning(d: dict) -> str:
    wall = d["replanning"]["wall_s"]
    return f"{wall['median']:.2f} s (median), {wall['most']:.2f} s at most, by the clock"


def throwing(d: dict) -> str:
    found = [d["bounces_rigid"]["bounces"][n] for n in "012"]
    off = max(f["distances"]["ball"] for f in found)
    rollouts = ", ".join(str(f["rollouts"]) for f in found)
    return f"at most {up(off)} m from it after {rollouts} rollouts"


def locomotion(d: dict) -> str:
    rows, r = [x for x in d["table"] if x["published_seconds"]], d["random"]
    reached = sum(x["status"] == "reached" for x in d["table"])
    return (
        f"{reached} of {len(d['table'])} reached, {between([x['seconds'] for x in d['table']], 2)} "
        f"CPU s ([G]: {between([x['published_seconds'] for x in rows], 1)} s); {r['reached']} of "
        f"{r['robots']} random robots and gaits reach their goals, median "
        f"{r['seconds']['median']:.2f} s"
    )


def in_mujoco(d: dict) -> str:
    return (
        f"of {len(d['rows'])}, tracked in open loop {d['within_bar']['with_efforts']} stay within "
        f"6 % of their speed with planned torques, {d['within_bar']['slippery']} on slippery "
        f"ground, {d['within_bar']['pd']} with position gains alone"
    )


def compliant(d: dict) -> str:
    r = d["refined"]
    return (
        f"{r['cpu_seconds']:.0f} CPU s, {r['rollouts']} rollouts ([G]: {d['thesis']['seconds']} s, "
        f"{d['thesis']['degrees of freedom']} degrees of freedom; here "
        f"{d['degrees_of_freedom']}); speed missed by "
        f"{percent(abs(d['longer']['missed']))} over {len(d['longer']['speeds'])} periods"
    )


def pendulums(d: dict) -> str:
    p = d["pendulums"].values()
    worst = max(1 - q["gradients"]["mean_best"] / q["maximum"] for q in p)
    paper = [q["paper"] / q["maximum"] for q in p]
    return (
        f"within {percent(worst, 2)} of the most, in "
        f"{between([q['gradients']['mean_cpu_seconds'] for q in p], 0)} CPU s each ([Qa], in a "
        f"setting of its own: {100 * min(paper):.1f} to {percent(max(paper))})"
    )


def ant(d: dict) -> str:
    means = ", ".join(f"{r['in_mujoco']['mean']:.0f}" for r in d["trained"]["runs"])
    sac = ", ".join(f"{r['in_mujoco']['mean']:.0f}" for r in d["sac"]["runs"])
    p, least = d["paper"], min(r["in_mujoco"]["mean_length"] for r in d["trained"]["runs"])
    return (
        f"returns {means}, episodes of {least:.0f} of 1000 steps at least ([Qa]: "
        f"{p['trained']:.0f} ± {p['trained_std']:.0f}); SAC in MuJoCo in as "
        f"much time {sac}; untrained {d['untrained'][0]['mean']:.0f}"
    )


def cups(d: dict) -> str:
    own = d["friction"]
    return (
        f"{100 * own['hit_rate'][1]:.0f} % hit after one epoch of {own['cpu_seconds'][0]:.0f} CPU s"
        f" (thesis: {d['thesis_cpu_seconds_per_epoch']:.0f} s); "
        f"{100 * d['frictionless']['with_friction']['hit_rate']:.0f} % if it learned without "
        "friction"
    )


def first_data(d: dict) -> str:
    return (
        f"{percent(d['usable_or_rightly_refused'], 0)} of {d['recordings']} usable, or rightly "
        f"refused; {percent(1 - d['not_wrong'], 0)} wrong"
    )


def contact_defaults(d: dict) -> str:
    one = max(by["sunk"] for by in d["rest"]["implicit"].values())
    own = [by["sunk"] for case in ("stack", "ratio_100", "ratio_1000", "bowl")
           for by in d[case]["implicit"].values()]  # fmt: skip
    creep = [1000 * by["creep"] for by in d["ramp"]["implicit"].values()]
    theirs = [by["sunk"] for by in d["ratio_100"]["mujoco"].values()]
    return (
        f"a box sinks by {percent(one)} of its size, the others by at most {percent(max(own))}; "
        f"creep on a slope of 15° {between(creep, 2)} mm/s; by MuJoCo's defaults 100 kg on 1 kg "
        f"sinks {percent(max(theirs))}"
    )


def zoo(d: dict) -> str:
    """What is taken, and what differs without a word; see validation/zoo.py."""
    kinds = list(d["summary"].values())

    def total(word: str) -> int:
        return sum(kind.get(word, 0) for kind in kinds)

    taken = ", ".join(
        f"{kind['taken']} {name.upper()}s ({percent(kind['taken_share'], 1)})"
        for name, kind in d["summary"].items()
    )
    finite = percent(min(kind["velocity_finite"] for kind in kinds), 0)
    return (
        f"of {total('models')} files taken: {taken}; {total('refused_rightly')} refused for what "
        f"they are, {total('refused')} otherwise; off by more than 1e-6 without a word: "
        f"{sum(len(kind['off_unsaid']) for kind in kinds)}; velocity stepper finite in {finite}; "
        f"gradients off by more than 1e-4: {total('gradient_off')}, at kinks: "
        f"{total('gradient_at_kinks')}"
    )


def whole_models(d: dict) -> str:
    """Of those whose result in MuJoCo moves by less than 1 % with its step, and how long one is."""
    steady = {name: row for name, row in d["models"].items()
              if isinstance(row, dict) and row["mujoco"].get("by_step", 1) < 0.01}  # fmt: skip
    off = {
        s: [row[s].get("off", float("inf")) for row in steady.values()]
        for s in ("implicit", "velocity")
    }
    times = [row[s]["ms_per_step"] / row["mujoco"]["ms_per_step"]
             for row in d["models"].values() if isinstance(row, dict)
             for s in ("implicit", "velocity") if "off" in row[s]]  # fmt: skip
    within = [sum(o <= 0.05 for o in own) for own in off.values()]
    return (
        f"of {len(steady)} models that hardly depend on MuJoCo's step {within[0]} (implicit) and "
        f"{within[1]} (hard contact) are within 5 % of their size; a step takes "
        f"{between(times, 1)} times as long as MuJoCo's"
    )
