import { type JSX } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useStore } from '../data/store.js';
import { formatDay, formatZone } from '../time-text.js';
import { Details } from './details.js';
import { drawAxis } from './draw-axis.js';
import { drawLanes, type Hit, readPalette } from './draw-lanes.js';
import { Problems } from './problems.js';
import { type Hover, RowLabel, Tip } from './row-label.js';
import {
  countIn,
  findProblems,
  heightOf,
  itemsOf,
  layOutRows,
  type Problem,
  type Row,
  rowsBetween,
  type Selection,
  timeOf,
} from './rows.js';
import { Scrubber } from './scrubber.js';
import {
  panBy,
  SHORTEST_MS,
  stepFor,
  ticksOf,
  type TimeWindow,
  windowAround,
  windowAtNow,
  zoomAt,
} from './time-window.js';
import { type Band, type PodStates, type TimelineSource } from './timeline-source.js';
import { Chips, RANGES, type Shown, TimeTools } from './toolbar.js';

interface TimelineProps {
  readonly history: TimelineSource;
  readonly pods: PodStates;
  /** Incidents. */
  readonly bands?: readonly Band[];
  /** Shows this pod alone, without the controls for many. */
  readonly uid?: string;
}

const TICK_PX = 110;
const FIRST_RANGE_MS = 900_000;
/** Older records are read this much ahead of what is shown, as a part of the window. */
const AHEAD = 0.5;
/** How much a pixel of the wheel zooms, as an exponent. */
const WHEEL_ZOOM = 0.0022;
/** What is so near to now, as a part of the window, is now. */
const NEAR_NOW = 0.08;
const OFFSET_MS = -new Date().getTimezoneOffset() * 60_000;

/** How much of a recording is seen before its begin and behind its end, as a part of it. */
const MARGIN = 0.02;
const NO_BANDS: readonly Band[] = [];

/** The node's timeline: every pod's life on one axis. */
export function Timeline({ history, pods, bands = NO_BANDS, uid }: TimelineProps): JSX.Element {
  useStore(history);
  useStore(pods);
  const { player } = history;
  const [fixed, setFixed] = useState<TimeWindow>(() => firstWindow(history));
  const [lengthMs, setLength] = useState(fixed.toMs - fixed.fromMs);
  const [isLive, setLive] = useState(player === undefined);
  const [text, setText] = useState('');
  const [shown, setShown] = useState<Shown>({ hidden: new Set(), showsAll: false, onlyTrouble: false });
  const [selection, setSelection] = useState<Selection | undefined>();
  const [isListing, setListing] = useState(false);
  const [widthPx, setWidth] = useState(800);
  const [scrollPx, setScroll] = useState(0);
  const [viewPx, setView] = useState(400);
  const canvas = useRef<HTMLCanvasElement>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const axis = useRef<HTMLDivElement>(null);
  const filterField = useRef<HTMLInputElement>(null);
  const hits = useRef<Hit[]>([]);
  const showTip = useRef<(hover: Hover | undefined) => void>(() => undefined);

  const { tracks } = history;
  const { hidden, showsAll, onlyTrouble } = shown;
  const rows = useMemo(
    () => layOutRows(tracks, pods, { text, onlyTrouble, uid }),
    // The tracks grow in place: the version says that they have.
    [tracks, history.version, pods.version, text, onlyTrouble, uid],
  );
  const getWindow = useCallback(
    (nowMs: number): TimeWindow => (isLive ? windowAtNow(lengthMs, nowMs) : fixed),
    [isLive, lengthMs, fixed],
  );
  const moveTo = (next: TimeWindow, live = false): void => {
    setLength(next.toMs - next.fromMs);
    setFixed(next);
    setLive(live);
  };
  const zoom = (factor: number, atMs?: number): void => {
    const nowMs = Date.now();
    const window = getWindow(nowMs);
    const { fromMs, toMs } = window;
    // It goes on to follow, with now where it is, unless somebody zooms in on something before.
    const isBefore = atMs !== undefined && factor < 1 && atMs < nowMs - (toMs - fromMs) * NEAR_NOW;
    if (isLive && !isBefore) moveTo(zoomAt(window, factor, nowMs), true);
    else moveTo(zoomAt(window, factor, atMs ?? (fromMs + toMs) / 2));
  };
  const pan = (part: number): void => moveTo(panBy(getWindow(Date.now()), part, history.endMs()));
  const goLive = (): void => {
    if (player === undefined) moveTo(windowAtNow(lengthMs, Date.now()), true);
  };

  const goTo = (ms: number): void => {
    moveTo(windowAround(ms, lengthMs));
    player?.goTo(ms);
  };
  const close = (): void => {
    // From one problem back to all of them.
    if (selection === undefined) setListing(false);
    setSelection(undefined);
  };

  const shownRows = rowsBetween(rows, scrollPx - 40, scrollPx + viewPx + 40);
  const selectedItem = selection?.item;
  const selectedRow = selection?.row.key;

  // A node that began a minute ago is shown by the minute.
  const hasFit = useRef(false);
  useEffect(() => {
    const first = history.tracks.entries[0];
    // Whoever connects slowly has no records yet.
    if (hasFit.current || history.state !== 'live' || player !== undefined || first === undefined) return;
    hasFit.current = true;
    const neededMs = (Date.now() - first.atMs) * 1.15;
    const fitting = RANGES.find(([, ms]) => ms >= neededMs)?.[1] ?? FIRST_RANGE_MS;
    if (isLive) setLength(Math.min(FIRST_RANGE_MS, fitting));
  }, [history.state, tracks.entries.length > 0]);

  // The moment of a recording takes the window along.
  const momentMs = player?.momentMs;
  useEffect(() => {
    if (momentMs === undefined || (momentMs >= fixed.fromMs && momentMs <= fixed.toMs)) return;
    const fromMs = momentMs - lengthMs * 0.1;
    setFixed({ fromMs, toMs: fromMs + lengthMs });
  }, [momentMs]);

  // Older records, once somebody looks at their time.
  const wantedMs = getWindow(Date.now());
  const sinceMs = wantedMs.fromMs - (wantedMs.toMs - wantedMs.fromMs) * AHEAD;
  useEffect(() => {
    const timer = setTimeout(() => void history.loadSince(sinceMs), 200);
    return () => clearTimeout(timer);
  }, [Math.floor(sinceMs / 30_000), history.state, history.isLoadingOlder]);

  useLayoutEffect(() => {
    const box = scroller.current!;
    const measure = (): void => {
      setWidth(Math.max(80, canvas.current!.parentElement!.clientWidth));
      setView(box.clientHeight);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    measure();
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const element = canvas.current!;
    const context = element.getContext('2d')!;
    let frame = 0;
    let lastDrawnMs = 0;
    let palette = readPalette(element);
    const draw = (): void => {
      if (axis.current === null) return;
      const nowMs = Date.now();
      const window = getWindow(nowMs);
      const scale = devicePixelRatio;
      const heightPx = viewPx;
      if (element.width !== Math.round(widthPx * scale) || element.height !== Math.round(heightPx * scale)) {
        element.width = Math.round(widthPx * scale);
        element.height = Math.round(heightPx * scale);
        element.style.width = `${widthPx}px`;
        element.style.height = `${heightPx}px`;
      }
      context.setTransform(scale, 0, 0, scale, 0, 0);
      const stepMs = stepFor(window, widthPx / TICK_PX);
      const ticks = ticksOf(window, stepMs, OFFSET_MS);
      hits.current = drawLanes(context, {
        ...{ rows: shownRows, window, ticks, widthPx, heightPx, scrollPx, palette, selectedRow, bands },
        ...{ nowMs: player?.momentMs ?? nowMs, endMs: history.endMs(), knownFromMs: history.fromMs },
        ...{ isRecording: player !== undefined, selected: selectedItem, showsAll, hiddenKinds: hidden },
      });
      drawAxis(axis.current, window, ticks, stepMs, widthPx);
      lastDrawnMs = nowMs;
    };
    const loop = (): void => {
      frame = requestAnimationFrame(loop);
      // Only as often as something has moved by a third of a pixel.
      const { fromMs, toMs } = getWindow(Date.now());
      const pauseMs = Math.min(1_000, Math.max(16, (toMs - fromMs) / widthPx / 3));
      if (isLive && Date.now() - lastDrawnMs >= pauseMs) draw();
    };
    draw();
    loop();
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const onScheme = (): void => {
      palette = readPalette(element);
      draw();
    };
    scheme.addEventListener('change', onScheme);
    addEventListener('podloop-theme', onScheme);
    return () => {
      cancelAnimationFrame(frame);
      scheme.removeEventListener('change', onScheme);
      removeEventListener('podloop-theme', onScheme);
    };
  });

  useEffect(() => {
    const element = canvas.current!;
    const onAxisWheel = (event: WheelEvent): void => {
      event.preventDefault();
      zoom(Math.exp(event.deltaY * WHEEL_ZOOM), timeAt(event.clientX));
    };
    const onWheel = (event: WheelEvent): void => {
      const { deltaX, deltaY, shiftKey, ctrlKey, metaKey, altKey } = event;
      const box = scroller.current!;
      const canScroll = box.scrollHeight > box.clientHeight + 1;
      const isAcross = Math.abs(deltaX) > Math.abs(deltaY) || shiftKey;
      if (isAcross) {
        event.preventDefault();
        pan((deltaX === 0 ? deltaY : deltaX) / widthPx);
      } else if (!canScroll || ctrlKey || metaKey || altKey) onAxisWheel(event);
    };
    const strip = axis.current!;
    element.addEventListener('wheel', onWheel, { passive: false });
    strip.addEventListener('wheel', onAxisWheel, { passive: false });
    return () => {
      element.removeEventListener('wheel', onWheel);
      strip.removeEventListener('wheel', onAxisWheel);
    };
  });

  /** The moment below a place of the screen. */
  const timeAt = (clientX: number, { fromMs, toMs } = getWindow(Date.now())): number => {
    const { left, width } = canvas.current!.getBoundingClientRect();
    return fromMs + ((clientX - left) / width) * (toMs - fromMs);
  };
  const findHit = (event: { clientX: number; clientY: number }): Hit | undefined => {
    const { left, top } = canvas.current!.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    // What was drawn last lies on top.
    return hits.current.findLast(
      (hit) => x >= hit.fromPx - 2 && x <= hit.toPx + 2 && y >= hit.topPx && y <= hit.bottomPx,
    );
  };
  const select = (hit: Hit): void => {
    const item = hit.span ?? hit.marks![0]!;
    setSelection({
      row: hit.row,
      item,
      ...(hit.marks !== undefined && hit.marks.length > 1 ? { others: hit.marks } : {}),
    });
  };
  const onPointerDown = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    const startX = event.clientX;
    const start = getWindow(Date.now());
    let hasMoved = false;
    const onMove = (move: PointerEvent): void => {
      if (Math.abs(move.clientX - startX) > 4) hasMoved = true;
      if (!hasMoved) return;
      showTip.current(undefined);
      moveTo(panBy(start, (startX - move.clientX) / widthPx, history.endMs()));
    };
    const onUp = (up: PointerEvent): void => {
      removeEventListener('pointermove', onMove);
      removeEventListener('pointerup', onUp);
      if (hasMoved) return;
      const hit = findHit(up);
      if (hit !== undefined) select(hit);
      else setSelection(undefined);
      player?.goTo(timeAt(up.clientX, start));
    };
    addEventListener('pointermove', onMove);
    addEventListener('pointerup', onUp);
  };
  const onPointerMove = (event: PointerEvent): void => {
    if (event.buttons !== 0) return;
    const hit = findHit(event);
    showTip.current(hit === undefined ? undefined : { hit, x: event.clientX, y: event.clientY });
  };

  const stepItem = (way: 1 | -1): void => {
    const row = rows.find(({ key }) => key === selectedRow) ?? rows[0];
    if (row === undefined) return;
    const items = itemsOf(row);
    const at = selectedItem === undefined ? (way > 0 ? -1 : items.length) : items.indexOf(selectedItem);
    const item = items[at + way];
    if (item === undefined) return;
    setSelection({ row, item });
    const atMs = timeOf(item);
    // What began before all that is known is at no moment.
    if (!Number.isFinite(atMs)) return;
    player?.goTo(atMs);
    const { fromMs, toMs } = getWindow(Date.now());
    if (atMs < fromMs || atMs > toMs) moveTo(windowAround(atMs, toMs - fromMs));
  };
  const scrollTo = ({ topPx, heightPx }: Row): void => {
    const box = scroller.current!;
    if (topPx < box.scrollTop) box.scrollTop = topPx;
    if (topPx + heightPx > box.scrollTop + box.clientHeight)
      box.scrollTop = topPx + heightPx - box.clientHeight;
  };
  const stepRow = (way: 1 | -1): void => {
    const at = rows.findIndex(({ key }) => key === selectedRow);
    const row = rows[Math.min(rows.length - 1, Math.max(0, at + way))];
    if (row === undefined) return;
    setSelection({ row });
    scrollTo(row);
  };
  const selectProblem = ({ row, item, atMs }: Problem): void => {
    setSelection({ row, item });
    scrollTo(row);
    if (Number.isFinite(atMs)) player?.goTo(atMs);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const action = (
      {
        ArrowLeft: () => (event.shiftKey ? stepItem(-1) : pan(-0.15)),
        ArrowRight: () => (event.shiftKey ? stepItem(1) : pan(0.15)),
        ArrowUp: () => stepRow(-1),
        ArrowDown: () => stepRow(1),
        '+': () => zoom(0.6),
        '=': () => zoom(0.6),
        '-': () => zoom(1 / 0.6),
        '[': () => stepItem(-1),
        ']': () => stepItem(1),
        l: goLive,
        ...(player && { ' ': () => player.toggle() }),
        '0': () => moveTo(firstWindow(history), player === undefined),
        Escape: close,
      } as Record<string, () => void>
    )[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };

  useEffect(() => {
    const onSlash = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.target instanceof HTMLInputElement) return;
      event.preventDefault();
      filterField.current?.focus();
    };
    addEventListener('keydown', onSlash);
    return () => removeEventListener('keydown', onSlash);
  }, []);

  const describeNothing = (): string => {
    if (text !== '' || onlyTrouble) return 'No pod matches. Change the filter to see others.';
    if (player !== undefined) return 'Nothing of pods was recorded.';
    if (uid !== undefined) return 'Nothing of this pod is recorded.';
    return 'No pods yet. Put a manifest into the folder of the agent, and its pod appears here.';
  };

  const window = getWindow(Date.now());
  // Many records are counted: only when there are others, or the window has moved by something that can be seen.
  const part = (window.toMs - window.fromMs) / 500;
  const { warnings, restarts } = useMemo(
    () => countIn(rows, window),
    [rows, Math.floor(window.fromMs / part), Math.floor(part)],
  );
  const podCount = rows.filter(({ kind }) => kind === 'pod').length;

  return (
    <section class={uid === undefined ? 'timeline' : 'timeline single'} aria-label="Timeline">
      {uid === undefined && <h1 class="visually-hidden">Timeline</h1>}
      <TimeTools
        {...{ lengthMs, isLive, warnings, restarts }}
        onRange={(ms) =>
          moveTo(
            isLive
              ? windowAtNow(ms, Date.now())
              : zoomAt(fixed, ms / lengthMs, (fixed.fromMs + fixed.toMs) / 2),
            isLive,
          )
        }
        onPan={pan}
        onZoom={zoom}
        onGoTo={goTo}
        onList={() => {
          setSelection(undefined);
          setListing(true);
        }}
        onLive={player === undefined ? goLive : undefined}
        podCount={uid === undefined ? podCount : undefined}
      >
        {uid === undefined && (
          <label class="search">
            <span class="visually-hidden">Filter pods</span>
            <input
              ref={filterField}
              type="search"
              placeholder="Filter pods, containers ( / )"
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
        )}
      </TimeTools>
      <Chips shown={shown} onChange={setShown} hasManyPods={uid === undefined} history={history} />
      {player !== undefined && <Scrubber {...{ history, player, bands, window }} />}
      <div class={selection === undefined && !isListing ? 'board' : 'board with-details'}>
        <div
          class="chart"
          role="application"
          tabIndex={0}
          aria-label="Timeline of pods. Arrow keys up and down choose a row, brackets step through what happened in it, left and right move, plus and minus zoom, L follows."
          onKeyDown={onKeyDown}
        >
          <div class="axis-row">
            <div class="corner">
              {formatDay(window.fromMs)} <span class="zone">{formatZone(window.fromMs)}</span>
            </div>
            <div class="axis" ref={axis} aria-hidden="true" />
          </div>
          <div class="lanes" ref={scroller} onScroll={(event) => setScroll(event.currentTarget.scrollTop)}>
            <div class="sheet" style={{ height: `${Math.max(heightOf(rows), 1)}px` }}>
              <div class="labels">
                {shownRows.map((row) => (
                  <RowLabel
                    key={row.key}
                    row={row}
                    isSelected={row.key === selectedRow}
                    onSelect={() => setSelection({ row })}
                  />
                ))}
              </div>
              <div class="drawing">
                <canvas
                  ref={canvas}
                  aria-hidden="true"
                  onPointerDown={onPointerDown}
                  onPointerMove={onPointerMove}
                  onPointerLeave={() => showTip.current(undefined)}
                />
              </div>
            </div>
            {history.state === 'loading' && <p class="empty">Reading the history…</p>}
            {history.state === 'live' && rows.length <= (uid === undefined ? 1 : 0) && (
              <p class="empty">{describeNothing()}</p>
            )}
          </div>
        </div>
        {selection !== undefined && (
          <Details
            {...{ selection, pods, nowMs: history.endMs(), hasPods: player === undefined }}
            onSelect={(item) => setSelection({ ...selection, item })}
            onClose={close}
          />
        )}
        {selection === undefined && isListing && (
          <Problems
            {...{ window, nowMs: history.endMs() }}
            problems={findProblems(rows, window)}
            onSelect={selectProblem}
            onClose={close}
          />
        )}
      </div>
      <Tip showTip={showTip} getNowMs={() => history.endMs()} />
    </section>
  );
}

/** Of a node what was last, of a recording all. */
function firstWindow(history: TimelineSource): TimeWindow {
  const { player, fromMs } = history;
  if (player === undefined) return windowAtNow(FIRST_RANGE_MS, Date.now());
  const toMs = history.endMs();
  const marginMs = Math.max(SHORTEST_MS / 2, (toMs - fromMs) * MARGIN);
  return { fromMs: fromMs - marginMs, toMs: toMs + marginMs };
}
