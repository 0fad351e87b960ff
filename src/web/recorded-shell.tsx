import { type JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { type RecordedTimeline } from '#kube/node/recorded-timeline.js';
import { RecordedFeed } from './data/recorded-feed.js';
import { Help, HelpButton, Logo, SkipLink, ThemeButton, useKeys } from './frame.js';
import { useRoute } from './route.js';
import { formatMoment, formatSpan } from './time-text.js';
import { Timeline } from './timeline/timeline-view.js';
import { FindingCard } from './views/doctor.js';
import { MeasurementsView } from './views/measurements.js';

/** The page of a recording or an incident: its timeline, which plays, and what was found. */
export function RecordedShell({ recorded }: { recorded: RecordedTimeline }): JSX.Element {
  const { title, facts, notes, fromMs, toMs, bands, findings, measured } = recorded;
  const feed = useMemo(() => new RecordedFeed(recorded), [recorded]);
  const views: readonly (readonly [string, string])[] = [
    ['timeline', 'Timeline'],
    ...(findings.length === 0 ? [] : [['findings', `Findings (${findings.length})`] as const]),
    ...(measured === undefined ? [] : [['measurements', 'Measurements'] as const]),
  ];
  const [view = 'timeline'] = useRoute().parts;
  const [isHelpOpen, setHelpOpen] = useKeys((digit) => {
    const chosen = views[digit - 1];
    if (chosen !== undefined) location.hash = `#/${chosen[0]}`;
  });
  useEffect(() => {
    document.title = `${title} – podloop`;
  }, [title]);
  return (
    <>
      <SkipLink />
      <header class="top">
        <span class="brand">
          <Logo />
        </span>
        <div class="where">
          <b>{title}</b>
          <span class="muted">
            {formatMoment(fromMs)}, {formatSpan(toMs - fromMs)}
          </span>
        </div>
        <nav aria-label="Views">
          {views.map(([key, label]) => (
            <a key={key} href={`#/${key}`} aria-current={view === key ? 'page' : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <span class="spacer" />
        <ThemeButton />
        <HelpButton onClick={() => setHelpOpen(true)} />
      </header>
      <section class="notices" aria-label="Notices">
        {notes.map((note) => (
          <p key={note} class="notice warn">
            {note}
          </p>
        ))}
      </section>
      <main id="main" tabIndex={-1}>
        {view === 'measurements' && measured !== undefined ? (
          <MeasurementsView measured={measured} />
        ) : view === 'findings' ? (
          <section class="view">
            <h1>What was found</h1>
            <p class="muted">{facts.map(([name, value]) => `${name}: ${value}`).join(' · ')}</p>
            {findings.map((finding, at) => (
              <FindingCard key={at} finding={finding} />
            ))}
          </section>
        ) : (
          <Timeline history={feed} pods={feed} bands={bands} />
        )}
      </main>
      {isHelpOpen && <Help onClose={() => setHelpOpen(false)} />}
    </>
  );
}
