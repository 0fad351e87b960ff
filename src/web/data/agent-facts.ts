import { useMemo } from 'preact/hooks';
import { type PlegReport } from '#kube/node/pleg-report.js';
import { usePolled } from './polled.js';
import { type Session } from './session.js';

/** What is known of the agent, or of the observer. */
export interface AgentFacts {
  readonly nodeName?: string | undefined;
  readonly version?: string | undefined;
  readonly runtime?: { readonly name?: string; readonly version?: string } | undefined;
  readonly startedAt?: string | undefined;
  readonly manifests?: readonly string[];
  readonly problems?: readonly string[];
  readonly rootDir?: string;
  /** It watches, and runs no pods. */
  readonly isObserver: boolean;
}

const FACTS_MS = 10_000;

/** Asks for them again and again. An observer has no page of its own for that: it is known by its other answers. */
export function useAgentFacts(session: Session): AgentFacts {
  const agent = usePolled<Omit<AgentFacts, 'isObserver'>>(session, '/agent/agent', FACTS_MS);
  const isObserver = agent.isAbsent;
  const ofObserver = (path: string): string | undefined => (isObserver ? path : undefined);
  const version = usePolled<{ readonly gitVersion?: string }>(
    session,
    ofObserver('/agent/version'),
    FACTS_MS,
  );
  const report = usePolled<Partial<PlegReport>>(session, ofObserver('/agent/debug/pleg'), FACTS_MS);
  return useMemo(() => {
    if (!isObserver) return { ...agent.value, isObserver };
    const { atMs, forMs, runtime } = report.value ?? {};
    const isDated = atMs !== undefined && forMs !== undefined;
    return {
      ...{ isObserver, nodeName: session.machine, runtime },
      version: version.value?.gitVersion?.replace(/^podloop v/, ''),
      startedAt: isDated ? new Date(atMs - forMs).toISOString() : undefined,
    };
  }, [isObserver, agent.value, version.value, report.value]);
}
