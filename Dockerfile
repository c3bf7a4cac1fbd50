# Loupe in a container. Not built in CI. What a container cannot do, and how to run it: docs/install.md.
FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN wheel=$(ls /wheels/mcp_loupe-*.whl) \
 && pip install --no-cache-dir "$wheel[fast]" && rm -r /wheels \
 && useradd --create-home loupe && mkdir /data && chown loupe /data && chmod 700 /data
USER loupe
ENV MCP_LOUPE_DATA=/data
VOLUME /data
WORKDIR /home/loupe
EXPOSE 6280
ENTRYPOINT ["mcp-loupe"]
CMD ["serve", "--no-open", "--host", "0.0.0.0", "--port", "6280", "--allow-origin", "http://localhost:6280"]
