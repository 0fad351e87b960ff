import { parsePressure, type Pressure } from '#base/proc/usage/pressure.js';
import { type HostFiles } from './host-files.js';
import { known, type Looked, notKnown } from '../looked.js';
import { type PressureFacts, type PressureOf } from './machine-facts.js';

/** Reads /proc/pressure. See https://docs.kernel.org/accounting/psi.html. */
export async function readPressure(files: HostFiles): Promise<Looked<PressureFacts>> {
  const read = async (name: string): Promise<PressureOf | undefined> => {
    const text = await files.find(`/proc/pressure/${name}`);
    const pressure = parsePressure(text);
    return pressure && toFacts(pressure);
  };
  const [cpu, io, memory] = [await read('cpu'), await read('io'), await read('memory')];
  if (cpu === undefined || io === undefined || memory === undefined) {
    return notKnown('the kernel does not measure pressure (PSI): /proc/pressure cannot be read');
  }
  return known({ cpu, io, memory });
}

function toFacts({ some, full }: Pressure): PressureOf {
  return {
    ...{ someAvg10: some.avg10, someAvg60: some.avg60 },
    ...{ fullAvg10: full.avg10, fullAvg60: full.avg60 },
  };
}
