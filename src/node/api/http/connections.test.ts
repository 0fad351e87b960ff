import { EventEmitter } from 'node:events';
import { type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Connections } from './connections.js';

/** A server with room for three strangers. */
function scene() {
  const closed: string[] = [];
  const connections = new Connections({ maxStrangers: 3, onDrop: () => closed.push('dropped') });
  let port = 1_000;
  const come = (remoteAddress: string | undefined, name: string): Socket => {
    const socket = new EventEmitter() as EventEmitter & { destroy(): void };
    socket.destroy = () => {
      closed.push(name);
      socket.emit('close');
    };
    const place = remoteAddress === undefined ? {} : { localAddress: '10.0.0.1', localPort: 10_250 };
    const made = Object.assign(socket, { ...place, remoteAddress, remotePort: ++port }) as unknown as Socket;
    connections.add(made);
    return made;
  };
  return { connections, come, closed };
}

describe('connections of strangers', () => {
  it('are bounded: the oldest of the address that has most goes for who comes', () => {
    const { come, closed } = scene();
    come('10.0.0.2', 'other');
    for (const name of ['first', 'second', 'third']) come('10.0.0.3', name);
    expect(closed).toEqual(['first', 'dropped']);
    come('10.0.0.4', 'new');
    expect(closed.slice(2)).toEqual(['second', 'dropped']);
  });

  it('are no longer theirs once they have shown who they are, or have gone', () => {
    const { connections, come, closed } = scene();
    const sockets = ['a', 'b', 'c'].map((name) => come('10.0.0.3', name));
    connections.know(sockets[0]!);
    connections.know(sockets[0]!);
    come('10.0.0.3', 'd');
    expect(closed).toEqual([]);
    sockets[1]!.destroy();
    come('10.0.0.3', 'e');
    expect(closed).toEqual(['b']);
    come('10.0.0.3', 'f');
    expect(closed).toEqual(['b', 'c', 'dropped']);
  });

  it('are known by both of their ends, whichever object stands for them', () => {
    const { connections, come, closed } = scene();
    const { localAddress, localPort, remoteAddress, remotePort } = come('10.0.0.3', 'a');
    const withTls: unknown = { localAddress, localPort, remoteAddress, remotePort };
    connections.know(withTls as Socket);
    for (const name of ['b', 'c', 'd']) come('10.0.0.3', name);
    expect(closed).toEqual([]);
  });

  it('at a unix socket are bounded, too', () => {
    const { connections, come, closed } = scene();
    const known = come(undefined, 'a');
    connections.know(known);
    for (const name of ['b', 'c', 'd', 'e']) come(undefined, name);
    expect(closed).toEqual(['b', 'dropped']);
    connections.destroyAll();
    expect(closed).toEqual(['b', 'dropped', 'a', 'c', 'd', 'e']);
  });
});

it('connections are of the era in which they came', () => {
  const { connections, come } = scene();
  const before = come('10.0.0.3', 'before');
  expect(connections.isOfThisEra(before)).toBe(true);
  connections.beginEra();
  expect([before, come('10.0.0.3', 'after')].map((socket) => connections.isOfThisEra(socket))).toEqual([
    false,
    true,
  ]);
});
