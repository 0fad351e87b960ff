import { type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type Session } from '../data/session.js';

interface ActionProps {
  readonly session: Session;
  readonly verb: 'stop' | 'start' | 'restart';
  readonly namespace: string;
  readonly name: string;
}

const WORDS = {
  stop: { label: 'Stop', sure: 'Stop it until it is started again?', done: 'It is being stopped.' },
  start: { label: 'Start', sure: 'Start it?', done: 'It is being started.' },
  restart: {
    label: 'Restart',
    sure: 'End its containers and run them again?',
    done: 'It is being restarted.',
  },
} as const;

/** A button that changes a pod, once somebody has said yes; nothing where the page only reads. */
export function Action({ session, verb, namespace, name }: ActionProps): JSX.Element | null {
  const [state, setState] = useState<'idle' | 'asking' | 'busy'>('idle');
  const [said, setSaid] = useState('');
  if (!session.canWrite) return null;
  const { label, sure, done } = WORDS[verb];
  const act = async (): Promise<void> => {
    setState('busy');
    const pod = `/agent/api/v1/namespaces/${namespace}/pods/${name}`;
    try {
      if (verb === 'stop') await session.change('DELETE', `${pod}?keepClaims=true`);
      else await session.change('POST', `${pod}/${verb}`);
      setSaid(done);
    } catch (error) {
      setSaid((error as Error).message);
    }
    setState('idle');
  };
  return (
    <span class="action">
      {state === 'asking' ? (
        <span role="alertdialog" aria-label={sure}>
          {sure}{' '}
          <button type="button" class="danger" onClick={() => void act()}>
            {label}
          </button>{' '}
          <button type="button" onClick={() => setState('idle')}>
            Cancel
          </button>
        </span>
      ) : (
        <button type="button" disabled={state === 'busy'} onClick={() => setState('asking')}>
          {label}
        </button>
      )}
      <span class="muted" role="status">
        {said}
      </span>
    </span>
  );
}
