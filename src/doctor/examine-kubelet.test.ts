import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { untilTrue } from '#support/until-true.js';
import { FakeClock } from '#testing/fake-clock.js';
import { KubeletExaminer, readMetrics } from './examine-kubelet.js';
import { parseSamples } from './facts/prometheus-text.js';

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function examinerOf(
  urls: readonly string[],
  healthzUrl: string,
  timeoutMs = 5_000,
  clock: Clock = new SystemClock(),
): KubeletExaminer {
  return new KubeletExaminer({
    addresses: { urls, healthzUrl, credentials: { token: 'secret' } },
    ...{ clock, signal: new AbortController().signal, timeoutMs },
  });
}

/** Metrics of a kubelet: its relists by duration, and when the last one was. */
const metrics = (relists: number, slow: number, lastSeen: number): string =>
  [
    `kubelet_pleg_relist_duration_seconds_bucket{le="0.5"} ${relists}`,
    `kubelet_pleg_relist_duration_seconds_bucket{le="10"} ${relists + slow}`,
    `kubelet_pleg_relist_duration_seconds_bucket{le="+Inf"} ${relists + slow}`,
    `kubelet_pleg_last_seen_seconds ${lastSeen}`,
    'kubelet_pleg_discard_events 4',
    'kubelet_runtime_operations_duration_seconds_bucket{operation_type="container_status",le="19.07"} 9',
    'kubelet_runtime_operations_duration_seconds_bucket{operation_type="container_status",le="+Inf"} 9',
    'kubelet_runtime_operations_errors_total{operation_type="container_status"} 2',
  ].join('\n');

describe('KubeletExaminer', () => {
  it('judges the relists of its own time, and the last look by the clock', async () => {
    let slow = 0;
    const url = await serve((request, response) => {
      expect(request.headers.authorization).toBeUndefined();
      if (request.url === '/metrics') response.end(metrics(1_000, slow, Date.now() / 1_000 - 200));
      else response.writeHead(500).end('[+]ping ok\n[-]pleg failed: reason withheld\n');
    });
    const examiner = examinerOf(['http://127.0.0.1:1', url], `${url}/healthz`);
    await examiner.begin();
    slow = 3;
    const { health, metrics: looked } = await examiner.end();
    expect(health).toMatchObject({ known: true, value: { healthy: false } });
    expect(looked).toMatchObject({
      known: true,
      value: { isRecent: true, relists: 3, eventsDiscarded: 4, url: `${url}/metrics` },
    });
    if (!looked.known) return;
    expect(looked.value.relistP99Ms).toBeGreaterThan(9_000);
    expect(looked.value.lastSeenAgoMs).toBeGreaterThanOrEqual(200_000);
    expect(looked.value.operations).toMatchObject([{ operation: 'container_status', count: 9, errors: 2 }]);
  });

  it('tells who looks every five minutes because a stream tells of changes, and who says its threshold', () => {
    const page = (...lines: string[]): ReturnType<typeof readMetrics> =>
      readMetrics(
        parseSamples(lines.join('\n'), () => true),
        [],
        0,
      );
    const connected = 'kubelet_evented_pleg_connection_success_count 1';
    const interval = (sum: number, count: number): string[] => [
      `kubelet_pleg_relist_interval_seconds_sum ${sum}`,
      `kubelet_pleg_relist_interval_seconds_count ${count}`,
    ];
    expect(page(...interval(900, 3))).toMatchObject({ isEvented: false });
    expect(page(connected, ...interval(900, 3))).toMatchObject({ isEvented: true });
    expect(page(connected, ...interval(0, 0))).toMatchObject({ isEvented: true });
    // Since v1.37 the stream is a hint, and the kubelet still relists every second.
    expect(page(connected, ...interval(3_000, 3_000))).toMatchObject({ isEvented: false });
    expect(page('podloop_pleg_threshold_seconds 600')).toMatchObject({ thresholdMs: 600_000 });
  });

  it('says why nothing is known: nobody listens, it is forbidden, it hangs', async () => {
    const forbids = await serve((_, response) => response.writeHead(401).end('Unauthorized'));
    const hangs = await serve(() => undefined);
    const refused = examinerOf(['http://127.0.0.1:1', forbids], `${forbids}/healthz`);
    await refused.begin();
    const facts = await refused.end();
    expect(facts.health).toMatchObject({
      known: false,
      why: expect.stringContaining('answers 401') as unknown,
    });
    expect(facts.metrics).toMatchObject({
      known: false,
      why: expect.stringMatching(
        /nobody listens at http:\/\/127\.0\.0\.1:1\/metrics; .*answers 401/,
      ) as unknown,
    });
    const late = await examinerOf([hangs], '', 50).end();
    expect(late.metrics).toMatchObject({
      known: false,
      why: expect.stringContaining('no answer within 50 ms') as unknown,
    });
    expect(late.health).toMatchObject({ known: false });
  });

  it('is silent where it takes connections and does not answer, and is not asked again', async () => {
    let requests = 0;
    const hangs = await serve(() => {
      requests++;
    });
    const clock = new FakeClock();
    const examiner = examinerOf([hangs], `${hangs}/healthz`, 50, clock);
    const begun = examiner.begin();
    await untilTrue(() => requests === 2);
    await clock.advance(50);
    await begun;
    expect((await examiner.end()).health).toMatchObject({
      known: true,
      value: { healthy: false, silentForMs: 50 },
    });
    expect(requests).toBe(2);
  });
});
