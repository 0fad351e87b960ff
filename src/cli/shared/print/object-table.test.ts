import { describe, expect, it } from 'vitest';
import { type EventObject, type PodObject } from '#kube/columns/kube-object.js';
import { CustomTable, parseColumnsFile, parseCustomColumns } from './custom-columns.js';
import { ObjectTable, type ObjectTableOptions } from './object-table.js';
import { toJsonText, toYamlText } from './object-text.js';
import { sortObjects } from './sort-objects.js';

const NOW = Date.parse('2026-01-01T00:10:00Z');

const POD: PodObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'web',
    namespace: 'shop',
    creationTimestamp: '2026-01-01T00:05:00Z',
    labels: { tier: 'front', app: 'web' },
  },
  spec: { containers: [{ name: 'main' }], nodeName: 'n1' },
  status: {
    phase: 'Running',
    podIP: '10.0.0.1',
    containerStatuses: [{ name: 'main', ready: true, state: { running: {} } }],
  },
};

function table(options: Partial<ObjectTableOptions> = {}): ObjectTable {
  return new ObjectTable({
    resource: 'pods',
    ...{ wide: false, withNamespace: false, noHeaders: false, showLabels: false, labelColumns: [] },
    ...options,
  });
}

describe('a table of objects', () => {
  it('has kubectl’s columns', () => {
    expect(table().add([POD], NOW)).toEqual([
      'NAME   READY   STATUS    RESTARTS   AGE',
      'web    1/1     Running   0          5m',
    ]);
  });

  it('has more of them when it is wide', () => {
    expect(table({ wide: true }).add([POD], NOW)).toEqual([
      'NAME   READY   STATUS    RESTARTS   AGE   IP         NODE   NOMINATED NODE   READINESS GATES',
      'web    1/1     Running   0          5m    10.0.0.1   n1     <none>           <none>',
    ]);
  });

  it('has namespace, labels and kinds where they are wanted', () => {
    const options = {
      withNamespace: true,
      showLabels: true,
      labelColumns: ['app', 'x/other'],
      kindPrefix: 'pod',
    };
    expect(table(options).add([POD], NOW)).toEqual([
      'NAMESPACE   NAME      READY   STATUS    RESTARTS   AGE   APP   OTHER   LABELS',
      'shop        pod/web   1/1     Running   0          5m    web           app=web,tier=front',
    ]);
  });

  it('says its header once, and keeps its columns where later rows are narrower', () => {
    const growing = table();
    const long = { ...POD, metadata: { ...POD.metadata, name: 'a-longer-name' } };
    expect(growing.add([long], NOW)[0]).toBe('NAME            READY   STATUS    RESTARTS   AGE');
    expect(growing.add([POD], NOW)).toEqual(['web             1/1     Running   0          5m']);
  });

  it('has no header where none is wanted', () => {
    expect(table({ noHeaders: true }).add([POD], NOW)).toEqual(['web   1/1   Running   0     5m']);
  });

  it('lets no text from elsewhere begin a line or command a terminal', () => {
    const evil = { ...POD, metadata: { ...POD.metadata, name: 'a\u001B[2Jb\tc\nd' } };
    expect(table().add([evil], NOW)[1]).toMatch(/^a\^\[\[2Jb c\.\.\. {3}1\/1/);
  });

  it('shows events as kubectl does', () => {
    const event: EventObject = {
      metadata: { name: 'web.1', namespace: 'shop' },
      ...{ type: 'Warning', reason: 'BackOff', message: 'Back-off\nmore', count: 3 },
      ...{ firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:09:00Z' },
      ...{
        involvedObject: { kind: 'Pod', name: 'web', fieldPath: 'spec.containers{main}' },
        source: { component: 'podloop' },
      },
    };
    expect(table({ resource: 'events', wide: true }).add([event], NOW)).toEqual([
      'LAST SEEN   TYPE      REASON    OBJECT    SUBOBJECT               SOURCE    MESSAGE       FIRST SEEN   COUNT   NAME',
      '60s         Warning   BackOff   pod/web   spec.containers{main}   podloop   Back-off...   10m          3       web.1',
    ]);
  });
});

describe('custom columns', () => {
  it('are paths with headers', () => {
    const columns = parseCustomColumns(
      'NAME:.metadata.name,IP:status.podIP,NONE:{.spec.nothing},ALL:.spec.containers[*].name',
    );
    expect(new CustomTable(columns, false).add([POD])).toEqual([
      'NAME   IP         NONE     ALL',
      'web    10.0.0.1   <none>   main',
    ]);
  });

  it('come from a file, too', () => {
    const columns = parseColumnsFile('NAME  LABELS\n{metadata.name}  metadata.labels\n');
    expect(new CustomTable(columns, true).add([POD])).toEqual(['web   map[app:web tier:front]']);
  });

  it.each([
    ['', 'custom-columns format specified but no custom columns given'],
    ['NAME', 'unexpected custom-columns spec: NAME, expected <header>:<json-path-expr>'],
  ])('are refused when they are %j', (spec, message) => {
    expect(() => parseCustomColumns(spec)).toThrow(message);
  });
});

describe('objects as text', () => {
  it('have their keys in order', () => {
    expect(toJsonText({ kind: 'Pod', apiVersion: 'v1' })).toBe(
      '{\n    "apiVersion": "v1",\n    "kind": "Pod"\n}',
    );
  });

  it('are YAML as kubectl prints it', () => {
    const object = {
      kind: 'Pod',
      spec: { containers: [{ name: 'a', command: ['yes', '1', 'x: y'] }], text: 'a\nb\n' },
    };
    expect(toYamlText(object).split('\n')).toEqual([
      ...['kind: Pod', 'spec:', '  containers:', '  - command:', '    - "yes"', '    - "1"', '    - "x: y"'],
      ...['    name: a', '  text: |', '    a', '    b'],
    ]);
  });
});

describe('an order', () => {
  const named = (name: string, extra: object = {}): PodObject => ({ metadata: { name }, ...extra });
  const names = (objects: readonly PodObject[]): (string | undefined)[] =>
    objects.map(({ metadata }) => metadata?.name);

  it('counts numbers in names as people do', () => {
    expect(names(sortObjects([named('web-10'), named('web-9'), named('db')], '.metadata.name'))).toEqual([
      'db',
      'web-9',
      'web-10',
    ]);
  });

  it('knows quantities and numbers, and puts what has none first', () => {
    const sized = ['1Gi', '512Mi', '2G'].map((size) => named(size, { spec: { size } }));
    expect(names(sortObjects([...sized, named('none')], '{.spec.size}'))).toEqual([
      'none',
      '512Mi',
      '1Gi',
      '2G',
    ]);
  });

  it('by a field that nobody has is refused', () => {
    expect(() => sortObjects([named('a')], '.spec.nope')).toThrow(
      `couldn't find any field with path "{.spec.nope}"`,
    );
  });
});
