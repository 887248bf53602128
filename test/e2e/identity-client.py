"""FastMCP's client: logs in as a person would, calls a tool, answers it, and prints what came of it.

identity-client.py URL PERSON
"""

import asyncio
import json
import re
import sys
from urllib.parse import parse_qs, urljoin, urlparse

import fastmcp
from fastmcp.client.auth import OAuth
from fastmcp.client.elicitation import ElicitResult
from mcp.shared.auth import AuthorizationCodeResult


class ByScript(OAuth):
    """Follows the authorization request itself, where FastMCP would open a browser."""

    async def redirect_handler(self, authorization_url):
        self.asked = parse_qs(urlparse(authorization_url).query)["scope"][0]
        origin = urlparse(authorization_url).netloc
        url, form = authorization_url, None
        async with self.httpx_client_factory() as browser:
            for _ in range(20):
                response = await browser.request("POST" if form else "GET", url, data=form, follow_redirects=False)
                form = None
                if "location" in response.headers:
                    url = urljoin(url, response.headers["location"])
                    if urlparse(url).netloc != origin:
                        self.back = {key: values[0] for key, values in parse_qs(urlparse(url).query).items()}
                        return
                    continue
                url = urljoin(url, re.search(r'<form[^>]* action="([^"]+)"', response.text)[1])
                form = {"prompt": re.search(r'name="prompt" value="(\w+)"', response.text)[1], "login": sys.argv[2], "password": "any"}

    async def callback_handler(self):
        return AuthorizationCodeResult(code=self.back["code"], state=self.back.get("state"), iss=self.back.get("iss"))


async def answer(_message, response_type, _params, _context):
    return ElicitResult(action="accept", content={"name": "Alice"})


async def main():
    auth = ByScript()
    async with fastmcp.Client(sys.argv[1], auth=auth, elicitation_handler=answer) as client:
        result = await client.call_tool("greet", {})
    print(json.dumps({"asked": auth.asked, "text": result.content[0].text}))


asyncio.run(main())
