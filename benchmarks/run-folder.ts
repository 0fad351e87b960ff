import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

const PREFIX = 'podloop-bench-run-';

/**
 * Makes a temporary folder that says whose it is, for whoever made it to remove; and removes those of benchmarks that were
 * killed before they could.
 */
export async function makeRunFolder(what: string, parent = tmpdir()): Promise<string> {
  await removeAbandoned(parent);
  return await mkdtemp(path.join(parent, `${PREFIX}${process.pid}-${what}-`));
}

/** An id that somebody else has by now only keeps its folder a while longer. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.startsWith(PREFIX)) continue;
    const owner = Number.parseInt(name.slice(PREFIX.length), 10);
    if (Number.isNaN(owner) || existsSync(`/proc/${owner}`)) continue;
    await rm(path.join(parent, name), { recursive: true, force: true });
  }
}
