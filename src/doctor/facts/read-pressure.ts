import { type HostFiles } from './host-files.js';
import { known, type Looked, notKnown } from '../looked.js';
import { type PressureFacts, type PressureOf } from './machine-facts.js';

/** Reads /proc/pressure. See https://docs.kernel.org/accounting/psi.html. */
export async function readPressure(files: HostFiles): Promise<Looked<PressureFacts>> {
  const read = async (name: string): Promise<PressureOf | undefined> => {
    const text = await files.find(`/proc/pressure/${name}`);
    return text === undefined ? undefined : parsePressure(text);
  };
  const [cpu, io, memory] = [await read('cpu'), await read('io'), await read('memory')];
  if (cpu === undefined || io === undefined || memory === undefined) {
    return notKnown('the kernel does not measure pressure (PSI): /proc/pressure cannot be read');
  }
  return known({ cpu, io, memory });
}

/** Reads `some avg10=0.00 avg60=… ` and `full …`; a kernel may have no `full` of the CPU. */
function parsePressure(text: string): PressureOf {
  const averageOf = (kind: string, name: string): number =>
    Number(new RegExp(`^${kind} .*\\b${name}=([\\d.]+)`, 'm').exec(text)?.[1] ?? 0);
  return {
    someAvg10: averageOf('some', 'avg10'),
    someAvg60: averageOf('some', 'avg60'),
    fullAvg10: averageOf('full', 'avg10'),
    fullAvg60: averageOf('full', 'avg60'),
  };
}
