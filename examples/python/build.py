"""Runs a build in a session that outlives this program, prints its output as it arrives, and exits with its exit code.

    PYTHONPATH=clients/python python3 examples/python/build.py 'make test'

Restarted with the ID that it printed, it continues with the same build, even after a kill of this program or the server.

    PYTHONPATH=clients/python python3 examples/python/build.py --session ID
"""

import argparse
import asyncio
import sys

import hawser


async def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", nargs="?", default="echo building; sleep 1; echo done")
    parser.add_argument("--session", help="ID printed by an earlier run")
    options = parser.parse_args()

    async with hawser.locate() as client:
        if options.session:
            session = await client.get(options.session)
        else:
            session = await client.create(command=options.command, mode="pipe", labels={"kind": "build"})
            print(f"session {session.id}", file=sys.stderr)
        return await show(session)


async def show(session: hawser.Session) -> int:
    code = 1
    async with session.attach(role="viewer") as attachment:
        async for event in attachment:
            match event:
                case hawser.Output(stream, _, data):
                    target = sys.stderr if stream == "stderr" else sys.stdout
                    target.buffer.write(data)
                    target.flush()
                case hawser.Gap(start, end, reason):
                    print(f"[bytes {start} to {end} are missing: {reason}]", file=sys.stderr)
                case hawser.Disconnected(error):
                    print(f"[{error.message}; the build keeps running]", file=sys.stderr)
                case hawser.Exited(_, exit_status):
                    code = 1 if exit_status["code"] is None else exit_status["code"]
    return code


try:
    sys.exit(asyncio.run(main()))
except hawser.HawserError as problem:
    sys.exit(f"{problem}\n{problem.hint or ''}".strip())
