"""The web page, its JSON API and UDPipe's REST protocol: `structron serve` (the extra `serve`).

    browser ──▶ slow (connections) ──▶ limits (headers, origins, sizes) ──▶ app (addresses)
            ──▶ requests (threads) ──▶ bodies (JSON, forms) ──▶ library (models)

`library` holds what was named at the start: models, annotated files, training logs; no request names a path. `analyse`,
`beam`, `looks` and `udpipe` are functions of models and texts that know nothing of the web.
"""
