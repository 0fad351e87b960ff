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
  const bytesOf = (name: string): number | undefined => {
    const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  };
  const [totalBytes, availableBytes] = [bytesOf('MemTotal'), bytesOf('MemAvailable')];
  if (totalBytes === undefined || availableBytes === undefined)
    return notKnown('/proc/meminfo cannot be read');
  return known({ totalBytes, availableBytes });
}
