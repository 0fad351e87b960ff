import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { findMetricsFaults, readMetricsPage } from '#support/builders/metrics-page.js';
import { scrape } from '#support/clients/metrics-reader.js';
import { authAnswerGiven, authFetchEnded, authReviewEnded } from '#base/channels/auth-channels.js';
import { addDelegatedAuthMetrics, type ReadDelegatedAuth } from './delegated-auth-metrics.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

const NOTHING = { kept: 0, folded: 0, refused: 0, asked: 0, waiting: 0 };
let registry: MetricsRegistry;
let state: ReturnType<ReadDelegatedAuth>;

beforeEach(() => {
  registry = new MetricsRegistry({ channels, clock: new FakeClock() });
  state = { authn: NOTHING, authz: NOTHING };
  addDelegatedAuthMetrics(registry, () => state);
});

afterEach(() => {
  registry[Symbol.dispose]();
});

it('counts reviews by what the API server answered, each kind for itself', async () => {
  for (const code of [201, 201, 503, undefined])
    channels.publish(authReviewEnded, { kind: 'authn', code, durationMs: 400 });
  channels.publish(authReviewEnded, { kind: 'authz', code: 201, durationMs: 40 });
  expect(findMetricsFaults(readMetricsPage(await registry.text()))).toEqual([
    // The kubelet's name.
    'authentication_token_cache_active_fetch_count ends as parts of histograms do',
  ]);
  const read = await scrape(registry);
  expect(read('apiserver_delegated_authn_request_total', { code: '201' })).toBe(2);
  expect(read('apiserver_delegated_authn_request_total', { code: '503' })).toBe(1);
  expect(read('apiserver_delegated_authn_request_total', { code: '<error>' })).toBe(1);
  expect(read('apiserver_delegated_authz_request_total', { code: '201' })).toBe(1);
  const { sum, bucket } = {
    sum: read('apiserver_delegated_authn_request_duration_seconds_sum', { code: '201' }),
    bucket: read('apiserver_delegated_authn_request_duration_seconds_bucket', { code: '201', le: '0.25' }),
  };
  expect([sum, bucket]).toEqual([0.8, 0]);
});

it('counts how many tokens were known already, as a kubelet does', async () => {
  channels.publish(authAnswerGiven, { kind: 'authn', wasKept: false, failed: false, durationMs: 30 });
  channels.publish(authAnswerGiven, { kind: 'authn', wasKept: true, failed: false, durationMs: 0 });
  channels.publish(authAnswerGiven, { kind: 'authn', wasKept: false, failed: true, durationMs: 9_000 });
  channels.publish(authAnswerGiven, { kind: 'authz', wasKept: true, failed: false, durationMs: 0 });
  channels.publish(authFetchEnded, { kind: 'authn', failed: false });
  channels.publish(authFetchEnded, { kind: 'authn', failed: true });
  channels.publish(authFetchEnded, { kind: 'authz', failed: false });
  state = { authn: { ...NOTHING, asked: 2, waiting: 5 }, authz: undefined };
  const read = await scrape(registry);
  expect(read('authentication_token_cache_request_total', { status: 'hit' })).toBe(1);
  expect(read('authentication_token_cache_request_total', { status: 'miss' })).toBe(2);
  expect(read('authentication_token_cache_request_duration_seconds_count', { status: 'miss' })).toBe(2);
  expect(read('authentication_token_cache_fetch_total', { status: 'ok' })).toBe(1);
  expect(read('authentication_token_cache_fetch_total', { status: 'error' })).toBe(1);
  expect(read('authentication_token_cache_active_fetch_count', { status: 'in_flight' })).toBe(2);
  expect(read('authentication_token_cache_active_fetch_count', { status: 'blocked' })).toBe(5);
  expect(read('podloop_auth_answers_total', { kind: 'authn', from: 'failed' })).toBe(1);
  expect(read('podloop_auth_answers_total', { kind: 'authz', from: 'kept' })).toBe(1);
});

it('shows what is cached, what went for want of room, and what was not even asked', async () => {
  state = { authn: { ...NOTHING, kept: 3, folded: 2 }, authz: { ...NOTHING, refused: 4 } };
  const read = await scrape(registry);
  expect(read('podloop_auth_answers_kept', { kind: 'authn' })).toBe(3);
  expect(read('podloop_auth_answers_folded_total', { kind: 'authn' })).toBe(2);
  expect(read('podloop_auth_questions_refused_total', { kind: 'authz' })).toBe(4);
});
