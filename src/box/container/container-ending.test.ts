import { afterEach, expect, it, vi } from 'vitest';
import { ContainerConfig } from '../../watch/cri/generated/runtime/v1/cri.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { Cgroups } from '../cgroups/cgroups.js';
import { findProcess } from '../process/child-identity.js';
import { ProcessTable } from '../process/process-table.js';
import { ContainerEnding } from './container-ending.js';

afterEach(() => vi.restoreAllMocks());

it.each(['none', 'namespaces'] as const)(
  'does not fail over a signal that cannot be sent, and says so, with isolation %s',
  async (kind) => {
    const logger = new LogRecorder();
    const record = { id: 'c1', sandboxId: 's1', config: ContainerConfig.fromPartial({}) };
    const cgroups = await Cgroups.detect({ logger: SILENT_LOGGER, prefix: 'unused', mountinfo: '' });
    const processes = new ProcessTable({ clock: new FakeClock() });
    const isolation = { kind, endsWithMain: () => true };
    const clock = new FakeClock();
    const ending = new ContainerEnding({
      record,
      host: { clock, cgroups, processes, logger, isolation },
      findFinishedAtNs: () => undefined,
    });
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EINVAL'), { code: 'EINVAL' });
    });
    ending.sendStop(findProcess(process.pid)!, 99);
    expect(kill).toHaveBeenCalledOnce();
    expect(logger.complaints).toEqual([
      {
        level: 'warn',
        message: 'Signal not sent',
        fields: { containerId: 'c1', signal: 99, err: 'kill EINVAL' },
      },
    ]);
  },
);
