import { findBytes } from '#base/proc/proc-text.js';
import { type HostFiles } from './host-files.js';
import { known, type Looked, notKnown } from '../looked.js';
import { type LoadFacts, type MemoryFacts } from './machine-facts.js';

/** Reads /proc/loadavg and how many processors there are. */
export async function readLoad(files: HostFiles): Promise<Looked<LoadFacts>> {
  const [average, stat] = [await files.find('/proc/loadavg'), await files.find('/proc/stat')];
  const [average1, average5] = (average ?? '').split(' ').map(Number);
  if (average1 === undefined || average5 === undefined || stat === undefined) {
    return notKnown('/proc/loadavg cannot be read');
  }
  return known({ cores: stat.match(/^cpu\d+ /gm)?.length ?? 1, average1, average5 });
}

/** Reads /proc/meminfo. */
export async function readMemory(files: HostFiles): Promise<Looked<MemoryFacts>> {
  const text = (await files.find('/proc/meminfo')) ?? '';
  const [totalBytes, availableBytes] = [findBytes(text, 'MemTotal'), findBytes(text, 'MemAvailable')];
  if (totalBytes === undefined || availableBytes === undefined)
    return notKnown('/proc/meminfo cannot be read');
  return known({ totalBytes, availableBytes });
}
