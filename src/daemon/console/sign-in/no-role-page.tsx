import { Document } from '../shell/layout.tsx';

/**
 * The page for a person who has signed in, but whose groups give them no role. `setting` is the setting that lists the
 * groups of each role.
 */
export function NoRolePage({ person, setting }: { person: string; setting: string }) {
  return (
    <Document title="No access">
      <main class="sign-in">
        <div class="card">
          <div class="fields">
            <h1>No access</h1>
            <p>You are signed in as {person}, but none of your groups has a role here.</p>
            <p>
              Ask the operator to add one of your groups to <code class="command">{setting}</code>, then sign in again.
            </p>
            <p>
              <a href="/sign-in">Sign in another way</a>
            </p>
          </div>
        </div>
      </main>
    </Document>
  );
}
