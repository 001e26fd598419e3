"""Asks a shell a question and reads its answer, without asyncio."""

import re

import hawser.sync

with hawser.sync.locate() as client:
    shell = client.create(["sh"])
    shell.write("echo the answer is $((6 * 7))\n")
    result = shell.wait(match=re.compile(r"answer is (\d+)"), timeout=10)
    if result.match:
        print(result.match[1])
    shell.remove()
