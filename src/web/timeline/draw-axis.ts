import { formatTick } from '../time-text.js';
import { type Tick, type TimeWindow } from './time-window.js';

/** Puts the times above the lanes: straight into the page, as it happens up to sixty times a second. */
export function drawAxis(
  element: HTMLElement,
  { fromMs, toMs }: TimeWindow,
  ticks: readonly Tick[],
  stepMs: number,
  widthPx: number,
): void {
  while (element.childElementCount > ticks.length) element.lastElementChild!.remove();
  while (element.childElementCount < ticks.length) element.append(document.createElement('span'));
  for (const [at, { atMs, isDay }] of ticks.entries()) {
    const label = element.children[at] as HTMLElement;
    const text = formatTick(atMs, stepMs);
    if (label.textContent !== text) label.textContent = text;
    label.className = isDay ? 'day' : '';
    label.style.transform = `translateX(${(((atMs - fromMs) / (toMs - fromMs)) * widthPx).toFixed(1)}px)`;
  }
}
