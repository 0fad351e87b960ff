import { expect, it } from 'vitest';
import { ContainerConfig } from '../../watch/cri/generated/runtime/v1/cri.js';
import { computeCommand } from './resolve-command.js';

const user = { uid: 0, gid: 0, groups: [], home: '/root' };

it.each([
  ['', '', '/'],
  ['', 'srv/app', '/srv/app'],
  ['', '../up', '/up'],
  ['', '/srv//app', '/srv/app'],
  ['/data', 'srv', '/data'],
])(
  'goes to the folder of the request "%s", else to that of the image "%s": %s',
  (ofRequest, ofImage, folder) => {
    const config = ContainerConfig.fromPartial({ command: ['true'], workingDir: ofRequest });
    const image = { entrypoint: [], cmd: [], env: [], user: '', workingDir: ofImage, stopSignal: '' };
    expect(computeCommand({ id: 'c', config, image, user }, 'h').workingDir).toBe(folder);
  },
);
