import { pathToFileURL } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { findInExecutable } from './executable-files.js';

/** Makes the modules inside the executable known to the thread that runs it; see `scripts/release/single-executable`. */
const MODULES = new URL(`${pathToFileURL(process.execPath).href}/modules.cjs`);

/** Starts a thread from a file of the program, on the disk or inside the executable. */
export function startThread(entry: URL, options: WorkerOptions): Worker {
  const modules = findInExecutable(MODULES);
  if (modules === undefined) return new Worker(entry, options);
  return new Worker(`${modules.toString()}\nimport(${JSON.stringify(entry.href)});`, {
    ...options,
    eval: true,
  });
}
