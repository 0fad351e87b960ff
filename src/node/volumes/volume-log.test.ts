import { describe, expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { VolumeLog } from './volume-log.js';

const web = { uid: 'u1', namespace: 'default', name: 'web' };

describe('the log of volumes', () => {
  it('names the pod by what was known of it, when it is cleared up by its uid', () => {
    const logger = new LogRecorder();
    const log = new VolumeLog(logger);
    log.setUp(web, 'data');
    log.setUp(web, 'data');
    log.tornDown({ uid: 'u1' }, ['data']);
    log.tornDown({ uid: 'u1' }, []);
    const fields = { pod: web, podUID: 'u1' };
    expect(logger.lines.map((line) => [line.message, line.fields])).toEqual([
      ['MountVolume.SetUp succeeded for volume "data"', fields],
      ['UnmountVolume.TearDown succeeded for volume "data"', fields],
      ['All volumes are unmounted for pod', fields],
    ]);
  });

  it('logs each step once, and each volume by name', () => {
    const logger = new LogRecorder();
    const log = new VolumeLog(logger);
    for (let syncs = 0; syncs < 2; syncs++) {
      log.settingUp(web, 'data');
      log.setUp(web, 'data');
    }
    log.tearingDown(web, ['data']);
    log.tornDown(web, ['data']);
    expect(logger.lines.map(({ message }) => message)).toEqual([
      'operationExecutor.MountVolume started for volume "data"',
      'MountVolume.SetUp succeeded for volume "data"',
      'Waiting for volumes to unmount for pod',
      'operationExecutor.UnmountVolume started for volume "data"',
      'UnmountVolume.TearDown succeeded for volume "data"',
      'All volumes are unmounted for pod',
    ]);
  });

  it('ends the trail of a pod that has none, too', () => {
    const logger = new LogRecorder();
    new VolumeLog(logger).tornDown(web, []);
    const fields = { pod: web, podUID: 'u1' };
    expect(logger.lines).toMatchObject([{ message: 'All volumes are unmounted for pod', fields }]);
  });

  it('names a pod of an earlier agent by its uid alone', () => {
    const logger = new LogRecorder();
    new VolumeLog(logger).tornDown({ uid: 'u1' }, ['data']);
    expect(logger.lines.map(({ fields }) => fields)).toEqual([{ podUID: 'u1' }, { podUID: 'u1' }]);
  });
});
