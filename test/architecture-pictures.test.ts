/**
 * The pictures of docs/architecture.md, drawn of what stands here and of the imports in src/. `PODLOOP_PICTURES=1` draws them again.
 *
 * @module
 */
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { type Diagram, type DiagramArrow, type DiagramBox, drawDiagram } from '#support/pictures/diagram.js';
import { importsOf, listFiles, readText, REPOSITORY } from './source-tree.js';

function expectPicture(name: string, diagram: Diagram): void {
  const file = `docs/images/${name}.svg`;
  const drawn = drawDiagram(diagram);
  if (process.env['PODLOOP_PICTURES'] !== undefined) writeFileSync(path.join(REPOSITORY, file), drawn);
  expect(readText(file)).toBe(drawn);
}

/** Places boxes in columns and rows. */
const [EDGE, WIDTH, GAP, HEIGHT, ROW] = [20, 148, 22, 62, 112] as const;

const columnX = (column: number): number => EDGE + column * (WIDTH + GAP);
const rowY = (row: number): number => EDGE + row * ROW;
const middleX = (column: number): number => columnX(column) + WIDTH / 2;
const middleY = (row: number): number => rowY(row) + HEIGHT / 2;

function cell(
  column: number,
  row: number,
  name: string,
  rows: readonly string[],
  tone?: 'other',
): DiagramBox {
  const place = { x: columnX(column), y: rowY(row), width: WIDTH, height: HEIGHT };
  return { ...place, name, rows, ...(tone === undefined ? {} : { tone }) };
}

/** From the right side of a column to the left side of another. */
const across = (row: number, from: number, to = from + 1, offset = 0): DiagramArrow => ({
  points: [
    [columnX(from) + WIDTH, middleY(row) + offset],
    [columnX(to), middleY(row) + offset],
  ],
});
const down = (column: number, from: number, to = from + 1): DiagramArrow => ({
  points: [
    [middleX(column), rowY(from) + HEIGHT],
    [middleX(column), rowY(to)],
  ],
});

it('the map of an agent', () => {
  const boxes = [
    cell(0, 0, 'manifests', ['folder, URL, stdin,', 'API server'], 'other'),
    cell(1, 0, 'node/desired', ['sources and their', 'last good versions']),
    cell(3, 0, 'node/pods/loop', ['picks the pods', 'to sync']),
    cell(4, 0, 'node/pods/workers', ['one thing at a time', 'for each pod']),
    cell(5, 0, 'node/pods/sync', ['does what differs,', 'step by step']),
    cell(6, 0, 'node/status', ['what is known', 'of each pod']),
    cell(2, 1, 'node/probes', ['and time']),
    cell(5, 1, 'node/images', ['volumes and hooks,', 'before a start']),
    cell(6, 1, 'node/api', ['kubectl, the page,', 'an API server'], 'other'),
    cell(0, 2, 'a runtime', ['containerd, CRI-O,', 'or that in the box'], 'other'),
    cell(1, 2, 'watch/cri', ['the wire: calls with', 'deadlines']),
    cell(2, 2, 'watch/observed', ['messages turned', 'into pods']),
    cell(3, 2, 'watch/pleg', ['records, diff,', 'cache, events']),
    cell(4, 2, 'readers', ['podloop watch,', 'your program'], 'other'),
    cell(5, 2, 'node/runtime', ['changes; stops', 'go first']),
  ];
  const [bottom, turn] = [rowY(2) + HEIGHT + 32, rowY(1) + HEIGHT + 18];
  const arrows: DiagramArrow[] = [
    ...[across(0, 0), across(0, 1, 3), across(0, 3), across(0, 4), across(0, 5), down(6, 0)],
    { points: [...across(2, 0, 1, 10).points].reverse() },
    ...[across(2, 0, 1, -10), across(2, 1), across(2, 2), across(2, 3), down(5, 0), down(5, 1)],
    {
      points: [...down(3, 0, 2).points].reverse(),
      label: { x: middleX(3) + 6, y: middleY(1), text: 'events' },
    },
    {
      points: [
        [columnX(2) + WIDTH, middleY(1)],
        [columnX(3) + 30, middleY(1)],
        [columnX(3) + 30, rowY(0) + HEIGHT],
      ],
    },
    {
      points: [
        [columnX(3) + 110, rowY(2)],
        [columnX(3) + 110, turn],
        [middleX(4), turn],
        [middleX(4), rowY(0) + HEIGHT],
      ],
      label: { x: middleX(4) + 6, y: middleY(1), text: 'statuses' },
    },
    {
      points: [
        [middleX(5), rowY(2) + HEIGHT],
        [middleX(5), bottom],
        [middleX(0), bottom],
        [middleX(0), rowY(2) + HEIGHT],
      ],
      label: { x: middleX(2), y: bottom - 6, text: 'create, start, stop, remove' },
    },
  ];
  const places = boxes.map(({ name }) => name).filter((name) => name.includes('/'));
  expect(places.filter((name) => !existsSync(path.join(REPOSITORY, 'src', name)))).toEqual([]);
  const title =
    'The map: manifests and what a runtime shows meet in the sync loop, which changes the runtime';
  expectPicture('architecture-map', {
    ...{ title, width: columnX(7) - GAP + EDGE, height: bottom + 16, boxes, arrows },
  });
});

/** What each area is, for who sees them for the first time. */
const AREAS: Readonly<Record<string, string>> = {
  base: 'what knows no pod: time, log, files, text, wire',
  kube: 'v1 objects: fields, rules, columns',
  watch: 'sees a node through CRI',
  doctor: 'what is wrong with a node',
  cluster: 'joins a control plane',
  web: 'the page in a browser',
  history: 'what happened, on the disk',
  box: 'the runtime in the box',
  proxy: 'chaos, recordings',
  testing: 'fakes for users’ tests',
  node: 'the agent',
  observe: 'beside a kubelet, reads only',
  cli: 'the commands',
};

/** The areas that each one imports, types included. */
function importsOfAreas(): Map<string, Set<string>> {
  const found = new Map(Object.keys(AREAS).map((area) => [area, new Set<string>()]));
  const files = listFiles('src', '.ts', '.tsx').filter((file) => !file.endsWith('.test.ts'));
  for (const file of files.filter((each) => each.includes('/'))) {
    const area = file.split('/')[0]!;
    for (const { to, isPackage } of importsOf(file)) {
      const [other = ''] = to.split('/');
      if (!isPackage && other !== area && to.includes('/')) found.get(area)?.add(other);
    }
  }
  return found;
}

/** An area stands above all that it imports. */
function floorsOf(imports: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const heightOf = (area: string): number =>
    Math.max(0, ...[...imports.get(area)!].map((other) => heightOf(other) + 1));
  const floors: string[][] = [];
  for (const area of imports.keys()) (floors[heightOf(area)] ??= []).push(area);
  return floors;
}

it('the areas, each above those that it imports', () => {
  const [width, gap, left, right] = [220, 16, 20, 964];
  const imports = importsOfAreas();
  const withoutBase = [...imports].filter(([, others]) => !others.has('base'));
  expect(withoutBase.map(([area]) => area)).toEqual(['base']);
  const floors = floorsOf(imports);
  const boxes = floors.flatMap((areas, floor) => {
    const isWide = areas.length === 1;
    const boxWidth = isWide ? right - left : width;
    const begin = (left + right - areas.length * boxWidth - (areas.length - 1) * gap) / 2;
    return areas.map((name, at): DiagramBox => {
      const others = [...imports.get(name)!].filter((other) => other !== 'base').sort();
      const uses = floor < 2 ? [] : [`uses ${others.join(', ')}`];
      const x = begin + at * (boxWidth + gap);
      const y = EDGE + (floors.length - 1 - floor) * (HEIGHT + gap);
      return { x, y, width: boxWidth, height: HEIGHT, name, rows: [AREAS[name]!, ...uses] };
    });
  });
  expect(boxes.map(({ name }) => name).sort()).toEqual(Object.keys(AREAS).sort());
  const height = 2 * EDGE + floors.length * (HEIGHT + gap) - gap;
  const title = 'The areas of src: each imports only what stands below it; all use base';
  expectPicture('architecture-areas', { title, width: right + left, height, boxes, arrows: [] });
});

it('the life of one event', () => {
  const [apart, top, step] = [236, EDGE + 48, 40];
  const actors = ['the runtime', 'watch/cri', 'watch/pleg', 'cache and queues', 'a reader'];
  const x = (actor: number): number => EDGE + 90 + actor * apart;
  const [boxes, arrows]: [DiagramBox[], DiagramArrow[]] = [[], []];
  let y = top + 16;
  const note = (actor: number, name: string): void => {
    boxes.push({ x: x(actor) - 90, y: y + 6, width: 180, height: 28, name, tone: 'other' });
    y += step;
  };
  const message = (from: number, to: number, text: string): void => {
    y += step;
    const points = [[x(from), y - 8] as const, [x(to), y - 8] as const];
    arrows.push({ points, label: { x: Math.min(x(from), x(to)) + 12, y: y - 14, text } });
  };
  note(0, 'a container ends');
  message(0, 2, '1  an event, a hint: a relist starts');
  note(2, '2  takes a stamp');
  message(2, 0, 'lists sandboxes and containers');
  message(0, 1, '3  the answer');
  message(1, 2, 'decoded in slices');
  note(2, '4  running → exited');
  message(2, 0, '5  status calls of pods that are due');
  message(0, 2, 'exit code, reason, times');
  message(2, 3, '6  the status');
  message(2, 3, 'ContainerDied');
  note(2, 'the record advances');
  message(3, 4, '7  in its own time');
  const bottom = y + 16;
  const heads = actors.map((name, at): DiagramBox => ({
    ...{ x: x(at) - 80, y: EDGE, width: 160, height: 34, name, tone: at === 0 || at === 4 ? 'other' : 'own' },
  }));
  const lines = actors.map((_, at): DiagramArrow => ({
    points: [
      [x(at), EDGE + 34],
      [x(at), bottom],
    ],
    isDashed: true,
  }));
  const title = 'The life of one event: from the end of a container to a reader, in seven steps';
  expectPicture('architecture-event', {
    ...{ title, width: x(4) + 90 + EDGE, height: bottom + 8 },
    ...{ boxes: [...heads, ...boxes], arrows: [...lines, ...arrows] },
  });
});
