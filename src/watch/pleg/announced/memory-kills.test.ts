import { expect, it } from 'vitest';
import { aContainer, aContainerStatus, aPod, aPodStatus } from '#testing/builders.js';
import { mayBeMemoryKill, withMemoryKills } from './memory-kills.js';

const EXITED = aContainer({ id: 'a', state: 'exited' });
const killed = (reason: string) => aContainerStatus(EXITED, { exitCode: 137, reason });
const podWith = (...containers: ReturnType<typeof killed>[]) => aPodStatus(aPod(), { containers });

it('may be any exit by SIGKILL that has no such reason', () => {
  expect(mayBeMemoryKill({ exitCode: 137, reason: 'Error' })).toBe(true);
  expect(mayBeMemoryKill({ exitCode: 137, reason: undefined })).toBe(true);
  expect(mayBeMemoryKill({ exitCode: 137, reason: 'OOMKilled' })).toBe(false);
  expect(mayBeMemoryKill({ exitCode: 1, reason: 'Error' })).toBe(false);
  expect(mayBeMemoryKill({ exitCode: undefined, reason: undefined })).toBe(false);
});

it('is the reason of an exit if either status says so, whichever of the two is newer', () => {
  const [error, oom] = [podWith(killed('Error')), podWith(killed('OOMKilled'))];
  expect(withMemoryKills(error, oom.containers)).toEqual(oom);
  expect(withMemoryKills(oom, error.containers)).toBe(oom);
});

it('changes nothing else: neither running containers, nor other containers, nor a status that no other corrects', () => {
  const running = podWith(aContainerStatus(aContainer({ id: 'a' })));
  expect(withMemoryKills(running, [killed('OOMKilled')])).toBe(running);
  const error = podWith(killed('Error'));
  expect(withMemoryKills(error, [{ ...killed('OOMKilled'), id: 'b' }])).toBe(error);
  expect(withMemoryKills(error, [{ ...killed('Error'), exitCode: 9 }])).toBe(error);
  const [told] = withMemoryKills(error, [{ ...killed('OOMKilled'), exitCode: 9 }]).containers;
  expect(told).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
});
