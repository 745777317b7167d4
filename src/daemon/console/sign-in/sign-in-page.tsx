import { MAX_NAME_CHARACTERS, PERSON_FIELD } from '../shell/form.tsx';
import { Document } from '../shell/layout.tsx';
import { Field } from '../shell/parts.tsx';

export const TOKEN_FIELD = 'token';
export const RETURN_FIELD = 'next';

/** The page that asks for a token. `next` is the path to show afterwards. */
export function SignInPage({
  next,
  fault,
  person,
}: {
  next: string;
  fault: string | null;
  person?: string | undefined;
}) {
  return (
    <Document title="Sign in">
      <main class="sign-in">
        <form class="card" method="post" action="/sign-in">
          <div class="fields">
            <h1>usage-ledger</h1>
            <p class="quiet">
              Open the link that <code class="command">usage-ledger open</code> prints, or enter a token.
            </p>
            {fault === null ? null : (
              <p class="fault" role="alert">
                {fault}
              </p>
            )}
            <input type="hidden" name={RETURN_FIELD} value={next} />
            <Field name={TOKEN_FIELD} label="Token" type="password" required autocomplete="current-password" />
            <Field
              name={PERSON_FIELD}
              label="Your name (changes are recorded under it)"
              value={person}
              maxLength={MAX_NAME_CHARACTERS}
              autocomplete="name"
            />
            <button class="main" type="submit">
              Sign in
            </button>
          </div>
        </form>
      </main>
    </Document>
  );
}
