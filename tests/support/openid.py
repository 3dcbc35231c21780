"""A small OpenID provider on 127.0.0.1 at which anybody signs in as one of a few people by a click."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "emu", "the client's secret"


@contextmanager
def provider(people: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Serve a provider that knows the claims of people by their names; gives its address."""
    key = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
    codes: dict[str, tuple[str, str | None]] = {}  # by code who it was given to, and the nonce of the request

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            address = urlsplit(self.path)
            asked = {name: values[0] for name, values in parse_qs(address.query).items()}
            if address.path == "/.well-known/openid-configuration":
                self.answer(
                    {
                        "issuer": issuer,
                        "authorization_endpoint": f"{issuer}/authorize",
                        "token_endpoint": f"{issuer}/token",
                        "jwks_uri": f"{issuer}/keys",
                        "id_token_signing_alg_values_supported": ["RS256"],
                    }
                )
            elif address.path == "/keys":
                self.answer({"keys": [key.as_dict(private=False)]})
            elif address.path == "/authorize" and asked["client_id"] == CLIENT:
                links = []
                for name in people:
                    code = token_urlsafe()
                    codes[code] = (name, asked.get("nonce"))
                    back = f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"
                    links.append(f'<p><a href="{escape(back)}">{escape(name)}</a>')
                self.answer("".join(links))
            else:
                self.send_error(404)

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            client = base64.b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode()
            if self.path != "/token" or client != f"{CLIENT}:{SECRET}":
                self.send_error(401)
                return
            name, nonce = codes.pop(form["code"][0])
            now = int(time.time())
            claims = {
                "iss": issuer,
                "aud": CLIENT,
                "iat": now,
                "exp": now + 600,
                "nonce": nonce,
                **people[name],
            }
            token = jwt.encode({"alg": "RS256", "kid": "one"}, claims, key)
            self.answer({"access_token": token_urlsafe(), "token_type": "Bearer", "id_token": token})

        def answer(self, content: Any) -> None:
            body = (content if isinstance(content, str) else json.dumps(content)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if isinstance(content, str) else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    issuer = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield issuer
    finally:
        server.shutdown()
        server.server_close()
