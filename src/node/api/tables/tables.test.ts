import { describe, expect, it } from 'vitest';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { FakeClock } from '#testing/fake-clock.js';
import { ServedPodsHarness } from '#support/harness/served-pods-harness.js';
import { type ApiAnswer, type ApiRequest, jsonAnswer } from '../http/api-request.js';
import { getPod, listPods, podFinder } from '../objects/list-pods.js';
import { WatchPlaces } from '../http/watch-answer.js';
import { withTables } from './answer-table.js';
import { readTableForm } from './read-table-form.js';

/** As kubectl asks. */
const KUBECTL = [
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=Table;v=v1beta1;g=meta.k8s.io',
  'application/json',
].join(',');

interface Table {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: object;
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[] | null;
  readonly rows: readonly { readonly cells: readonly string[]; readonly object?: KubeObject }[];
}

function ask(query = '', more: Partial<ApiRequest> = {}): ApiRequest {
  return {
    ...{
      method: 'GET',
      path: '/',
      headers: { accept: KUBECTL },
      params: { namespace: 'default', name: 'web' },
    },
    ...{ query: new URLSearchParams(query), signal: new AbortController().signal },
    readBody: async () => undefined,
    ...more,
  };
}

function setUp() {
  const scene = new ServedPodsHarness();
  const clock = new FakeClock({ nowMs: 60_000 });
  const watches = new WatchPlaces({ clock, limit: 9 });
  const list = listPods({ table: scene.table, watches });
  return { scene, clock, list, get: getPod(podFinder(scene.table), clock) };
}

async function tableOf(answer: ApiAnswer): Promise<Table> {
  return JSON.parse(await textOf(answer)) as Table;
}

async function textOf(answer: ApiAnswer): Promise<string> {
  if (answer.kind !== 'stream') throw new Error(`it is ${answer.kind}`);
  let text = '';
  for await (const piece of answer.pieces) text += String(piece);
  return text;
}

describe('a Table', () => {
  it('of pods has the columns of kubectl, those of wide tables marked', async () => {
    const { scene, list } = setUp();
    scene.set({ name: 'web', labels: { app: 'web' }, spec: { nodeName: 'n1' } });
    scene.set({ name: 'db' });
    const table = await tableOf(await list(ask()));
    const { kind, apiVersion, metadata, columnDefinitions, rows } = table;
    expect({ kind, apiVersion, metadata }).toEqual({
      ...{ kind: 'Table', apiVersion: 'meta.k8s.io/v1' },
      metadata: { resourceVersion: '102' },
    });
    expect(columnDefinitions?.map(({ name, priority }) => `${name} ${priority}`)).toEqual([
      ...['Name 0', 'Ready 0', 'Status 0', 'Restarts 0', 'Age 0'],
      ...['IP 1', 'Node 1', 'Nominated Node 1', 'Readiness Gates 1'],
    ]);
    expect(columnDefinitions?.[0]).toMatchObject({ type: 'string', format: 'name' });
    expect(rows.map(({ cells }) => cells.join(' '))).toEqual([
      'db 1/1 Running 0 60s <none> <none> <none> <none>',
      'web 1/1 Running 0 60s <none> n1 <none> <none>',
    ]);
  });

  it.each([
    ['', { kind: 'PartialObjectMetadata', metadata: { name: 'web', labels: { app: 'web' } } }],
    ['includeObject=Object', { kind: 'Pod', metadata: { name: 'web' }, status: { phase: 'Running' } }],
  ])('carries of its object what %o asks for', async (query, object) => {
    const { scene, get } = setUp();
    scene.set({ name: 'web', labels: { app: 'web' } });
    const [row] = (await tableOf(await get(ask(query)))).rows;
    expect(row).toMatchObject({ object });
    expect('spec' in row!.object!).toBe(query !== '');
  });

  it('carries none of its objects when none is wanted, and refuses another word', async () => {
    const { scene, get } = setUp();
    scene.set({ name: 'web' });
    const { rows } = await tableOf(await get(ask('includeObject=None')));
    expect(Object.keys(rows[0]!)).toEqual(['cells']);
    expect(() => get(ask('includeObject=All'))).toThrow('unrecognized includeObject value: "All"');
  });

  it('is what a watch sends, which describes its columns once', async () => {
    const { scene, list } = setUp();
    scene.set({ name: 'web' });
    const ending = new AbortController();
    const answer = await list(ask('watch=true&sendInitialEvents=true', { signal: ending.signal }));
    if (answer.kind !== 'stream') throw new Error('it is no stream');
    const events: { readonly type: string; readonly object: Table }[] = [];
    for await (const piece of answer.pieces) {
      if (piece.length === 0) continue;
      events.push(JSON.parse(String(piece)) as (typeof events)[number]);
      if (events.length === 2) scene.remove('web');
      if (events.length === 3) ending.abort();
    }
    const told = events.map(({ type, object }) => [
      ...[type, object.kind, object.rows.length],
      object.columnDefinitions?.length,
    ]);
    expect(told).toEqual([
      ['ADDED', 'Table', 1, 9],
      ['BOOKMARK', 'Table', 0, undefined],
      ['DELETED', 'Table', 1, undefined],
    ]);
    expect(events[1]!.object.metadata).toMatchObject({
      annotations: { 'k8s.io/initial-events-end': 'true' },
    });
  });

  it('is made of lists and objects of every other kind', async () => {
    const { clock } = setUp();
    const event = {
      ...{ metadata: { name: 'web.1' }, type: 'Normal', reason: 'Started', message: 'it runs', count: 2 },
      ...{ involvedObject: { kind: 'Pod', name: 'web' }, lastTimestamp: '1970-01-01T00:00:30Z' },
    };
    const list = jsonAnswer({ kind: 'EventList', metadata: { resourceVersion: '7' }, items: [event] });
    const events = await tableOf(await withTables('events', clock, () => list)(ask()));
    const shown = Object.fromEntries(
      events.columnDefinitions!.map(({ name, priority }, at) => [
        priority === 0 ? name.toUpperCase() : name,
        events.rows[0]!.cells[at],
      ]),
    );
    expect(shown).toMatchObject({
      ...{
        'LAST SEEN': '30s',
        OBJECT: 'pod/web',
        Subobject: '',
        MESSAGE: 'it runs',
        Count: '2',
        Name: 'web.1',
      },
    });
    const node = jsonAnswer({ kind: 'Node', metadata: { name: 'n1' }, status: {} });
    const nodes = await tableOf(await withTables('nodes', clock, () => node)(ask()));
    expect(nodes.rows.map(({ cells }) => cells.slice(0, 2))).toEqual([['n1', 'Unknown']]);
  });

  it('of nothing has its columns all the same', async () => {
    const { list } = setUp();
    expect(await tableOf(await list(ask('', { params: { namespace: 'empty' } })))).toMatchObject({
      ...{ rows: [], columnDefinitions: { length: 9 } },
    });
  });
});

describe('who gets a Table', () => {
  const V1 = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const form = (accept: string | undefined) =>
    readTableForm({
      headers: accept === undefined ? {} : { accept },
      query: new URLSearchParams(),
    })?.version;

  it.each([
    [KUBECTL, 'v1'],
    ['Application/JSON; g=meta.k8s.io; v=v1beta1; as=Table', 'v1beta1'],
    [`application/vnd.kubernetes.protobuf,${V1}`, 'v1'],
    [`application/json;as=Table;v=v2;g=meta.k8s.io,${V1}`, 'v1'],
    [`application/json,${V1}`, undefined],
    ['application/json;as=Table;v=v1;g=example.com,application/json', undefined],
    ['application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json', undefined],
    ['*/*', undefined],
    ['', undefined],
    [undefined, undefined],
    [';;;=,,as=table', undefined],
  ])('%o: %o', (accept, expected) => {
    expect(form(accept)).toBe(expected);
  });
});
