import { MAX_NAME_CHARACTERS } from '../../../core/text/person-name.ts';
import { PERSON_FIELD } from '../shell/form.tsx';
import { linkTo } from '../shell/formats.ts';
import { Document } from '../shell/layout.tsx';
import { Field } from '../shell/parts.tsx';

export const TOKEN_FIELD = 'token';
export const RETURN_FIELD = 'next';
export const SIGN_IN_PATH = '/sign-in';
/** The path that sends the browser to the sign-in provider. */
export const PROVIDER_PATH = '/sign-in/provider';

/** The page that asks for a token, or links to the sign-in provider. `next` is the path to show afterwards. */
export function SignInPage({
  next,
  fault,
  remedy = null,
  person,
  provider,
}: {
  next: string;
  fault: string | null;
  remedy?: string | null;
  person?: string | undefined;
  /** The host of the sign-in provider; null if none is configured. */
  provider: string | null;
}) {
  return (
    <Document title="Sign in">
      <main class="sign-in">
        <form class="card" method="post" action={SIGN_IN_PATH}>
          <div class="fields">
            <h1>usage-ledger</h1>
            {fault === null ? null : (
              <div class="fault" role="alert">
                <p>{fault}</p>
                {remedy === null ? null : <p>{remedy}</p>}
              </div>
            )}
            {provider === null ? null : (
              <p>
                <a class="button main" href={linkTo(PROVIDER_PATH, { [RETURN_FIELD]: next })}>
                  Sign in with {provider}
                </a>
              </p>
            )}
            <p class="quiet">
              {provider === null ? 'Open' : 'Or open'} the link that <code class="command">usage-ledger open</code>{' '}
              prints, or enter a token.
            </p>
            <input type="hidden" name={RETURN_FIELD} value={next} />
            <Field name={TOKEN_FIELD} label="Token" type="password" required autocomplete="current-password" />
            <Field
              name={PERSON_FIELD}
              label="Your name (changes are recorded under it)"
              value={person}
              maxLength={MAX_NAME_CHARACTERS}
              autocomplete="name"
            />
            <button class={provider === null ? 'main' : ''} type="submit">
              Sign in
            </button>
          </div>
        </form>
      </main>
    </Document>
  );
}
