import { describe, expect, it } from 'vitest';
import { type HostPort, TakenHostPorts } from './host-ports.js';

const WEB: HostPort = { port: 80, protocol: 'TCP', address: '' };
const at = (address: string): HostPort => ({ ...WEB, address });
const EVERY = ['', '0.0.0.0', '::'];
const SOME = ['10.0.0.1', '10.0.0.2'];

describe('a port of the node that is taken', () => {
  it('leaves room for others at other addresses alone, by each pair of addresses', () => {
    for (const taken of [...EVERY, ...SOME]) {
      for (const wanted of [...EVERY, ...SOME]) {
        const isFree = SOME.includes(taken) && SOME.includes(wanted) && taken !== wanted;
        expect([taken, wanted, new TakenHostPorts([at(taken)]).collides(at(wanted))]).toEqual([
          taken,
          wanted,
          !isFree,
        ]);
      }
    }
  });

  it('leaves room for those of other numbers and protocols', () => {
    const taken = new TakenHostPorts([WEB]);
    expect(taken.collides({ ...WEB, port: 81 })).toBe(false);
    expect(taken.collides({ ...WEB, protocol: 'UDP' })).toBe(false);
  });

  it('is free again once everybody who had it has given it back', () => {
    const taken = new TakenHostPorts([at(''), at('::'), at('10.0.0.1')]);
    taken.remove(at(''));
    expect(taken.collides(at('10.0.0.2'))).toBe(true);
    taken.remove(at('::'));
    expect([taken.collides(at('10.0.0.2')), taken.collides(at('10.0.0.1'))]).toEqual([false, true]);
    taken.remove(at('10.0.0.1'));
    expect(taken.collides(WEB)).toBe(false);
    taken.remove(WEB);
    expect(taken.collides(WEB)).toBe(false);
  });

  it('is found among thousands without a look at each', () => {
    const addresses = Array.from({ length: 20_000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
    let looks = 0;
    const watched = (address: string): HostPort => ({
      ...WEB,
      get address() {
        looks++;
        return address;
      },
    });
    const taken = new TakenHostPorts(addresses.map(watched));
    const before = looks;
    expect(addresses.every((address) => taken.collides(at(address)))).toBe(true);
    expect(looks).toBe(before);
  });
});
