import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type ApiRequest, type StreamAnswer } from '../http/api-request.js';
import { type AgentFacts, agentHandlers, EndRequest } from './serve-agent.js';

const NOW_MS = Date.parse('2026-01-01T00:00:00Z');

function factsOf(more: Partial<AgentFacts> = {}): AgentFacts & { readonly clock: FakeClock } {
  return {
    ...{ rootDir: '/var/lib/podloop', manifests: ['/srv/pods'], kubeconfig: '' },
    ...{ pid: 7, socket: '/var/lib/podloop/podloop.sock', nodeName: 'n1', startedAtMs: NOW_MS },
    ...{ runtime: { name: 'containerd', version: '2', url: 'unix:///c' }, version: '1', problems: () => [] },
    ...{ serviceManager: undefined, hasReadManifests: () => true, runningPods: () => [] },
    ...{ ending: new EndRequest(), clock: new FakeClock() },
    ...more,
  } as AgentFacts & { readonly clock: FakeClock };
}

const request = (signal = new AbortController().signal): ApiRequest => ({ signal }) as ApiRequest;

describe('GET /agent', () => {
  it('shows where its manifests are, and nothing of a cluster without one', async () => {
    const answer = await agentHandlers(factsOf()).show(request());
    const shown = { manifests: ['/srv/pods'], pid: 7, startedAt: '2026-01-01T00:00:00.000Z' };
    expect(answer).toMatchObject({ body: shown });
    expect((answer as { body: object }).body).not.toHaveProperty('kubeconfig');
  });

  it('names who starts it again', async () => {
    const answer = await agentHandlers(factsOf({ serviceManager: 'systemd' })).show(request());
    expect(answer).toMatchObject({ body: { serviceManager: 'systemd' } });
  });
});

describe('POST /agent/end', () => {
  async function readAll(answer: StreamAnswer, lines: string[]): Promise<void> {
    for await (const piece of answer.pieces) lines.push(String(piece).trim());
  }

  it('asks for the end, and reports each change of what runs and the outcome', async () => {
    let left = ['default/a', 'default/b'];
    const facts = factsOf({ runningPods: () => left });
    const lines: string[] = [];
    const reading = readAll((await agentHandlers(facts).end(request())) as StreamAnswer, lines);
    expect(facts.ending.signal.aborted).toBe(true);
    await facts.clock.advance(400);
    left = ['default/b'];
    await facts.clock.advance(200);
    left = [];
    facts.ending.answer('stopped');
    await reading;
    expect(lines).toEqual([
      '{"left":["default/a","default/b"]}',
      '{"left":["default/b"]}',
      '{"pods":"stopped"}',
    ]);
    expect(facts.clock.pendingTimers).toBe(0);
  });

  it('ends for a client that has gone, and the agent ends all the same', async () => {
    const facts = factsOf({ runningPods: () => ['default/a'] });
    const gone = new AbortController();
    const lines: string[] = [];
    const reading = readAll((await agentHandlers(facts).end(request(gone.signal))) as StreamAnswer, lines);
    await facts.clock.advance(200);
    gone.abort();
    await reading;
    expect(facts.ending.signal.aborted).toBe(true);
    expect(facts.clock.pendingTimers).toBe(0);
  });
});
