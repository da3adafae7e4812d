"""Training speed of DIAYN with SAC, against QDax's on the same terms, which gets a virtual environment of its own.

Both: eight skills in the plane, episodes of 64 steps, 256 scenes, 64 x 64 networks (actor, two critics,
discriminator), 4 gradient steps of 256 transitions on each of them for every 256 environment steps, rewards computed
anew from what is replayed, a replay of a million transitions. The two are measured in turns.
"""

from __future__ import annotations

from rival import HEADER, Rival, in_turns, speeds
from throughput import ours
from timing import table
from vendirl.algorithms.sac import SAC
from vendirl.training.settings import Settings

SCENES, STEPS, BATCH, SKILLS, PER_STEP = 256, 64, 256, 8, 4
GOAL = 2

QDAX = f"""
import json, sys, time
from functools import partial
import jax, jax.numpy as jnp
from brax.envs import State
from qdax.baselines.diayn import DIAYN, DiaynConfig
from qdax.core.neuroevolution.buffers.buffer import QDTransition, ReplayBuffer
from qdax.core.neuroevolution.sac_td3_utils import do_iteration_fn, warmstart_buffer

E, T = {SCENES}, {STEPS}

class Plane:  # the paper's plane, batched, in the form that QDax expects of an environment
    def reset(self):
        x, zeros = jnp.full((E, 2), 0.5), jnp.zeros(E)
        return State(x, x, zeros, zeros, {{}}, dict(truncation=zeros, steps=zeros, state_descriptor=x))

    def step(self, state, actions):
        x = jnp.clip(state.obs + 0.05 * jnp.clip(actions, -1, 1), 0, 1)
        steps = state.info["steps"] + 1
        over = steps >= T
        x = jnp.where(over[:, None], 0.5, x)
        info = dict(truncation=over.astype(float), steps=jnp.where(over, 0, steps), state_descriptor=x)
        return State(x, x, jnp.zeros(E), over.astype(float), {{}}, info)

env = Plane()
agent = DIAYN(DiaynConfig(
    batch_size={BATCH}, episode_length=T, num_skills={SKILLS}, learning_rate=1e-3, discount=0.99,
    critic_hidden_layer_size=(64, 64), policy_hidden_layer_size=(64, 64)), action_size=2)
training = agent.init(jax.random.key(0), action_size=2, observation_size=2, descriptor_size=2)
skills = jax.nn.one_hot(jnp.arange(E) % {SKILLS}, {SKILLS})
play = partial(agent.play_step_fn, env=env, skills=skills)
buffer = ReplayBuffer.init(1_000_000, QDTransition.init_dummy(2 + {SKILLS}, 2, 2))
state = env.reset()
buffer, state, training = warmstart_buffer(
    buffer, training, state, play_step_fn=play, num_warmstart_steps=E * T, env_batch_size=E)

@jax.jit
def train(training, state, buffer):
    def iteration(carry, _):
        *carry, metrics = do_iteration_fn(
            *carry, env_batch_size=E, grad_updates_per_step={PER_STEP} / E, play_step_fn=play, update_fn=agent.update)
        return tuple(carry), None
    return jax.lax.scan(iteration, (training, state, buffer), length=10 * T)[0]

carry = jax.block_until_ready(train(training, state, buffer))
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    jax.block_until_ready(train(*carry))
    print(json.dumps(10 * E * T / (time.perf_counter() - start)), flush=True)
"""


def settings() -> Settings:
    """DIAYN on the same terms."""
    updates = PER_STEP * STEPS
    passes = updates * BATCH // (SCENES * STEPS)  # of the discriminator over what an epoch brings
    return Settings(
        env=f"point(episode_length={STEPS})",
        method=f"diayn(passes={passes}, minibatches={updates // passes})",
        skills=SKILLS,
        scenes=SCENES,
        time=False,
        learner="sac",
        sac=SAC(updates=updates, batch=BATCH),
    )


def run(rounds: int = 5) -> str:
    rival = Rival("qdax", ["qdax==0.5.0"], QDAX)
    if reason := rival.start():
        print(f"skipped: {reason}")
        return f"DIAYN's training speed against QDax: skipped ({reason})\n"
    found = in_turns({"qdax": rival.measure, "ours": ours(settings())}, rounds)
    rival.stop()
    rows = [
        [*speeds("QDax 0.5.0", found["qdax"], found["qdax"]), ""],
        [*speeds("VendiRL", found["ours"], found["qdax"]), f"{GOAL}x"],
    ]
    for row in rows:
        print(*row, sep="\t", flush=True)
    return table("DIAYN with SAC, environment steps per second", HEADER, rows)


if __name__ == "__main__":
    print(run())
