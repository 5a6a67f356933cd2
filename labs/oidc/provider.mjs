// An identity provider that nobody here wrote, on loopback, with two people: ana, who is in a group with a role, and eve, who is in none.
// Usage: node provider.mjs PORT REDIRECT_URI
import { Provider } from "oidc-provider";

const [port, redirect] = process.argv.slice(2);
const groups = { ana: ["support", "everybody"] };

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: "factum",
    client_secret: "a-secret-of-the-lab",
    redirect_uris: [redirect],
    response_types: ["code"],
    grant_types: ["authorization_code"],
    token_endpoint_auth_method: process.env.AUTH_METHOD ?? "client_secret_basic",
  }],
  pkce: { required: () => true },
  scopes: ["openid", "profile", "groups"],
  claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"] },
  conformIdTokenClaims: false,
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, preferred_username: `${id}@acme.example`, groups: groups[id] ?? [] }),
  }),
  cookies: { keys: ["a key of the lab"] },
  features: { devInteractions: { enabled: true } },
});
provider.listen(Number(port), "127.0.0.1", () => console.log("listening"));
