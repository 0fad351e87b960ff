import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { type InstanceNames } from './config.js';
import { type Installed } from './installed.js';

/** Names that nothing else on the machine has. */
export async function chooseNames(folder: string, installed: Installed): Promise<InstanceNames> {
  const bytes = randomBytes(4);
  const id = bytes.toString('hex');
  return {
    id,
    folder,
    socket: path.join(folder, 'containerd.sock'),
    state: path.join(folder, 'state'),
    cniConfigFolder: path.join(folder, 'cni'),
    cniBinFolder: installed.cniFolder,
    // Names of network devices have at most 15 characters.
    bridge: `podl${id}`,
    network: `podloop-${id}`,
    subnet: await chooseSubnet(bytes),
    cgroupParent: `/podloop-${id}`,
  };
}

/** A /24 that the machine has no route to. */
async function chooseSubnet(bytes: Buffer): Promise<string> {
  const routes = (await readFile('/proc/net/route', 'utf8')).split('\n').map((line) => line.split('\t')[1]);
  for (let offset = 0; offset < 256; offset++) {
    const subnet = [10, 200 + (bytes[0]! % 50), (bytes[1]! + offset) % 256] as const;
    // The kernel prints addresses as little-endian words.
    const hex = [0, subnet[2], subnet[1], subnet[0]]
      .map((byte) => byte.toString(16).padStart(2, '0'))
      .join('');
    if (!routes.includes(hex.toUpperCase())) return subnet.join('.');
  }
  throw new Error('no free subnet on this machine');
}
