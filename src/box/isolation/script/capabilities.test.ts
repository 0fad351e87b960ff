import { describe, expect, it } from 'vitest';
import { Capability } from '../../../watch/cri/generated/runtime/v1/cri.js';
import { computeCapabilities, DEFAULT_CAPABILITIES } from './capabilities.js';

const AVAILABLE = [...DEFAULT_CAPABILITIES, 'net_admin', 'sys_admin'];

function compute(wanted: Partial<Capability>, privileged = false) {
  const { bounding, ambient } = computeCapabilities(Capability.fromPartial(wanted), privileged, AVAILABLE);
  return { bounding: [...bounding].sort(), ambient };
}

describe('computeCapabilities', () => {
  it('gives the default ones unless told, and never leave to make devices', () => {
    expect(compute({}).bounding).toEqual([...DEFAULT_CAPABILITIES].sort());
    expect(DEFAULT_CAPABILITIES).not.toContain('mknod');
  });

  it('adds and drops by names in any spelling', () => {
    const { bounding } = compute({
      addCapabilities: ['NET_ADMIN'],
      dropCapabilities: ['cap_chown', 'CAP_KILL'],
    });
    expect(bounding).toContain('net_admin');
    expect(bounding).not.toContain('chown');
    expect(bounding).toHaveLength(DEFAULT_CAPABILITIES.length - 1);
  });

  it('knows ALL on both sides', () => {
    expect(compute({ addCapabilities: ['ALL'] }).bounding).toEqual([...AVAILABLE].sort());
    expect(compute({ addCapabilities: ['ALL'], dropCapabilities: ['CHOWN'] }).bounding).not.toContain(
      'chown',
    );
    expect(compute({ dropCapabilities: ['ALL'], addCapabilities: ['CHOWN'] }).bounding).toEqual(['chown']);
    expect(compute({ dropCapabilities: ['ALL'] }).bounding).toEqual([]);
  });

  it('gives ambient ones in both sets', () => {
    const wanted = { dropCapabilities: ['ALL'], addAmbientCapabilities: ['NET_ADMIN'] };
    expect(compute(wanted)).toEqual({ bounding: ['net_admin'], ambient: ['net_admin'] });
  });

  it('gives all there are when privileged', () => {
    expect(compute({ dropCapabilities: ['ALL'] }, true).bounding).toEqual([...AVAILABLE].sort());
  });

  it('refuses what does not exist, and what the runtime does not have', () => {
    expect(() => compute({ addCapabilities: ['FLY'] })).toThrow('unknown capability "FLY"');
    expect(() => compute({ dropCapabilities: ['FLY'] })).toThrow('unknown capability "FLY"');
    expect(() => compute({ addCapabilities: ['SYS_BOOT'] })).toThrow('does not have it itself');
    expect(() => compute({ dropCapabilities: ['SYS_BOOT'] })).not.toThrow();
  });
});
