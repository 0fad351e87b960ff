import { describe, expect, it } from 'vitest';
import { StartFailures } from './start-failures.js';

describe('why containers do not start', () => {
  const failures = new StartFailures();
  const pulling = { reason: 'ErrImagePull', message: 'no such image' };

  it('is known until they start, or the pod is gone', () => {
    failures.record('uid', 'a', { reason: 'ImagePullBackOff' });
    failures.record('uid', 'a', pulling);
    failures.record('uid', 'b', pulling);
    expect(failures.find('uid', 'a')).toEqual(pulling);
    failures.clear('uid', 'a');
    failures.clear('uid', 'never');
    expect([failures.find('uid', 'a'), failures.find('uid', 'b')]).toEqual([undefined, pulling]);
    failures.forget('uid');
    expect(failures.find('uid', 'b')).toBeUndefined();
  });

  it('is of one pod alone', () => {
    failures.record('one', 'a', pulling);
    expect(failures.find('other', 'a')).toBeUndefined();
  });
});
