import { type ComponentChildren, type JSX } from 'preact';

/** A box with facts. */
export function Card({
  title,
  tone,
  children,
}: {
  title: string;
  tone?: string;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class={`card ${tone ?? ''}`} aria-label={title}>
      <h2>{title}</h2>
      <div class="card-body">{children}</div>
    </section>
  );
}

/** A name and what it is. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="fact">
      <span class="fact-name">{name}</span>
      <span class="fact-value">{children}</span>
    </div>
  );
}
