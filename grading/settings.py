"""Settings: the only reader of the environment. Every variable begins with GRADESPINE_."""

from typing import Final, Literal

from pydantic_settings import BaseSettings, SettingsConfigDict

DEFAULT_DATABASE: Final = "sqlite:///gradespine.db"


class Settings(BaseSettings):
    """`database_url` is a SQLite file (by default in the working folder) or a Postgres database. `require_qualified`:
    only graders that are qualified may re-grade."""

    model_config = SettingsConfigDict(env_prefix="GRADESPINE_", env_ignore_empty=True, extra="ignore", frozen=True)

    database_url: str = DEFAULT_DATABASE
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    require_qualified: bool = False
